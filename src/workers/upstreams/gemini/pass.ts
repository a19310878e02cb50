/**
 * Chats for clients of Gemini's API: the body as it came but for a closed list of edits, and the objects as they come
 * (docs/upstreams/gemini.md#same-dialect).
 */
import type { Route } from '../../../shared/catalogue/catalogue.ts'
import { sentFields } from '../../../shared/chat/check-body.ts'
import { FIELDS } from '../../../shared/chat/gemini/fields.ts'
import type { Seal } from '../../../shared/chat/seal.ts'
import { isSealed } from '../../../shared/chat/seal.ts'
import { asFields, isText, listOf } from '../../../shared/platform/fields.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import type { ChatRequest } from '../../../shared/requests/requests.ts'
import { PassThrough } from '../translation.ts'
import { GeminiDecoder } from './decode-answer.ts'
import { SKIPPED, needsSignatures, opened, sealedSignature } from './signatures.ts'
import type { Signing } from './signatures.ts'

/** The body that is sent. */
export function passed(
  request: ChatRequest,
  { model, allow }: Pick<Route, 'model' | 'allow'>,
  open: Seal['open'],
): Fields {
  const { max_tokens: limit, messages: _messages, model: _model, stream: _stream, ...rest } = request
  const { contents, generationConfig, ...others } = rest as Fields
  return {
    ...sentFields(others, FIELDS.free, allow),
    contents: listOf(contents).map((content) => sentContent(content, { model, open })),
    generationConfig: { ...asFields(generationConfig), maxOutputTokens: limit },
  }
}

/**
 * A content whose signatures are those that the upstream has made; of another route's nothing is sent. Where a
 * conversation began elsewhere, the first of the calls that were made at once has Google's own word for none.
 */
function sentContent(content: Fields, signing: Signing): Fields {
  const parts = listOf(content.parts)
  const sent = parts.flatMap((part) => signedPart(part, signing))
  const first = sent.findIndex(({ functionCall: called }) => called !== undefined)
  if (first >= 0 && sent[first]!.thoughtSignature === undefined && needsSignatures(signing.model))
    sent[first] = { ...sent[first], thoughtSignature: SKIPPED }
  const isSame = sent.length === parts.length && sent.every((part, at) => part === parts[at])
  return isSame ? content : { ...content, parts: sent }
}

/** A part with its signature as its model wrote it; none of a part that was only that of another route. */
function signedPart(part: Fields, { open }: Signing): Fields[] {
  const { thoughtSignature: sealed, ...rest } = part
  if (!isText(sealed) || !isSealed(sealed)) return [part]
  const signature = opened(sealed, open)
  if (signature !== null) return [{ ...rest, thoughtSignature: signature }]
  return Object.values(rest).some((value) => value !== '' && value !== true) ? [rest] : []
}

/** Passes the objects of one answer as they came, with signatures that only their route may read again. */
export class GeminiPassThrough extends PassThrough {
  private readonly seal: Seal['seal']

  constructor(seal: Seal['seal']) {
    super(new GeminiDecoder({ seal, isPassed: true }))
    this.seal = seal
  }

  protected passedOn(event: Fields): Fields[] {
    const candidates = listOf(event.candidates)
    // One with a usage alone: clients get that of the settlement, in the last object.
    if (candidates.length === 0 && event.promptFeedback === undefined) return []
    const sealed = candidates.map((candidate) => this.sealedIn(candidate))
    return [sealed.every((one, at) => one === candidates[at]) ? event : { ...event, candidates: sealed }]
  }

  private sealedIn(candidate: Fields): Fields {
    const content = asFields(candidate.content)
    const parts = listOf(content.parts)
    if (!parts.some(({ thoughtSignature: signature }) => isText(signature))) return candidate
    const sealed = parts.map((part) =>
      isText(part.thoughtSignature)
        ? { ...part, thoughtSignature: sealedSignature(part.thoughtSignature, this.seal) }
        : part,
    )
    return { ...candidate, content: { ...content, parts: sealed } }
  }
}
