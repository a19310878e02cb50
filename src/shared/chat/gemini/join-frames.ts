/** The answer of a stream of Gemini's API, put together from its objects. Pure. */
import { asFields, isText, listOf } from '../../platform/fields.ts'
import type { Fields } from '../../platform/fields.ts'
import { bytesAsJson, jsonBytes } from '../../platform/json-bytes.ts'
import type { CutOff } from '../assembly.ts'
import { Assembly, fitting } from '../assembly.ts'
import { owned } from '../deltas.ts'

/** The finishReason of what the upstream did not end. */
export const CUT: Readonly<Record<CutOff, string>> = { stop: 'STOP', length: 'MAX_TOKENS', cancelled: 'MAX_TOKENS' }

/** The candidate of an object: no answer of ours has more than one. */
export const candidateOf = ({ candidates }: Fields): Fields => asFields(listOf(candidates)[0])

/** The parts of a candidate. */
export const partsOfCandidate = ({ content }: Fields): Fields[] => listOf(asFields(content).parts)

/** An object of an answer. @param head what it has besides its candidate */
export const objectOf = (parts: readonly Fields[], finish: string | null, head: Fields): Fields => ({
  candidates: [{ content: { parts, role: 'model' }, ...(finish !== null && { finishReason: finish }), index: 0 }],
  ...head,
})

/** Whether a part is a text and nothing else, which further words may continue. */
const isPlain = ({ text, thought: _thought, ...more }: Fields): boolean =>
  typeof text === 'string' && Object.keys(more).length === 0

/** Puts objects together into the answer that a request without a stream would have had. */
export class GeminiAssembly extends Assembly {
  private readonly head: Fields = {}
  private readonly candidate: Fields = {}
  private readonly parts: Fields[] = []
  protected readonly sizeOf = sizeOfFrame
  protected readonly wordsIn = wordsInFrame
  protected readonly cut = cutFrame

  get isEmpty(): boolean {
    return this.parts.length === 0 && !isText(this.candidate.finishReason)
  }

  answer(cutOff: CutOff): Fields {
    const { finishReason, ...rest } = this.candidate
    const finish = isText(finishReason) ? finishReason : CUT[cutOff]
    const candidate = { content: { parts: this.parts, role: 'model' }, finishReason: finish, index: 0, ...rest }
    return { candidates: [candidate], ...this.head }
  }

  protected take({ candidates, usageMetadata: _usage, ...head }: Fields): void {
    Object.assign(this.head, head)
    const { content, index: _index, ...rest } = candidateOf({ candidates })
    Object.assign(this.candidate, rest)
    for (const part of partsOfCandidate({ content })) this.addPart(part)
  }

  private addPart(part: Fields): void {
    const last = this.parts.at(-1)
    if (part.text === '' && isPlain(part)) return
    if (last && isPlain(last) && isPlain(part) && (last.thought === true) === (part.thought === true))
      last.text = `${String(last.text)}${String(part.text)}`
    else this.parts.push(owned(part))
  }
}

/** The words of a part: a text, or a call of a function. */
const wordsOfPart = ({ text, functionCall: call }: Fields): number => {
  if (!call) return isText(text) ? Buffer.byteLength(text) : 0
  const { name, args } = asFields(call)
  return Buffer.byteLength(isText(name) ? name : '') + bytesAsJson(args ?? {})
}

/** The UTF-8 bytes of the words in parts. */
export const wordsInParts = (parts: readonly Fields[]): number =>
  parts.reduce((sum, part) => sum + wordsOfPart(part), 0)

const wordsInFrame = (frame: Fields): number => wordsInParts(partsOfCandidate(candidateOf(frame)))

const sizeOfPart = (part: Fields): number => (isPlain(part) ? jsonBytes(String(part.text)) : bytesAsJson(part))

/** What an object adds to its answer, in bytes of JSON. */
const sizeOfFrame = (frame: Fields): number =>
  partsOfCandidate(candidateOf(frame)).reduce((sum, part) => sum + sizeOfPart(part), 0)

/** The parts of an object that fit into `room` bytes, the last text of them cut. */
function cutFrame(frame: Fields, room: number): Fields {
  let left = room
  const parts = partsOfCandidate(candidateOf(frame)).flatMap((part) => {
    const size = sizeOfPart(part)
    const isWhole = size <= left
    const text = isWhole ? null : isPlain(part) ? fitting(String(part.text), left) : ''
    left -= size
    if (text === null) return [part]
    return text === '' ? [] : [{ ...part, text }]
  })
  const { candidates: _candidates, ...head } = frame
  return objectOf(parts, null, head)
}
