/**
 * What calls must cost by their prices, in credits. It is computed here once more, by nothing of what is tested: the
 * same arithmetic would find itself right.
 */
import type { Share, Tokens } from '../../../src/shared/terms/pricing.ts'
import type { UpstreamUsage } from '../../../src/workers/upstreams/adapter.ts'
import { LONGEST_ANSWER } from '../simulation/simulation.ts'
import { picturesOf, searchesAsked, shapeOf } from '../simulation/clients.ts'
import type { Asked } from '../simulation/clients.ts'
import type { Prices } from '../simulation/prices.ts'
import { secondsOf, spokenOf } from '../simulation/sound.ts'
import { reportedBy } from '../simulation/upstream.ts'
import type { Manner } from '../simulation/upstream.ts'
import type { CallRow } from './schedule-run.ts'

/** What an account pays of so many parts, each of which is `1 / per` of a credit: begun credits are whole ones. */
const creditsOf = ({ priceBasisPoints = 10_000 }: Share, parts: number, per = 1): number =>
  Math.ceil((parts * priceBasisPoints) / (10_000 * per))

/** What these tokens cost: never more than twice the charge. */
export function dueForTokens(
  { credits_precharged: charged }: CallRow,
  price: (Omit<Prices['chat'], 'output'> & { output?: number }) & Share,
  { input, cached = 0, written = 0, output }: Tokens,
): number {
  const parts =
    input * price.input + cached * price.cachedInput + written * price.cacheWrite + output * (price.output ?? 0)
  const due = Math.max(parts + price.perCall * price.perTokens, price.minimum * price.perTokens)
  return Math.min(creditsOf(price, due, price.perTokens), 2 * charged)
}

/** The usage that was reported, as far as it can be true, or else what the gateway counts: three bytes a token. */
export function tokensOf(row: CallRow, words: string, usage: UpstreamUsage | null): Tokens {
  const estimate = { input: row.estimated_input_tokens ?? 0, output: row.estimated_output_tokens ?? 0 }
  const { input = 0, cached = 0, written = 0, output = 0 } = usage ?? {}
  const all = input + cached + written
  const isInput = all > 0 && all <= 3 * estimate.input
  const isOutput = output > 0 && output <= 2 * estimate.output
  // No worker takes more words than it may.
  const counted = Math.min(Math.ceil(Math.min(words.length, LONGEST_ANSWER) / 3), 2 * estimate.output)
  return {
    ...(isInput ? { input, cached, written } : { input: estimate.input }),
    output: isOutput ? output : counted,
  }
}

/** What a call costs that is no chat: of all but pictures and embeddings its charge. */
export function dueFor(price: Prices, asked: Asked, row: CallRow, manner: Manner): number {
  switch (asked.modality) {
    case 'image':
      return dueForPictures(price.image, asked, manner)
    case 'video':
      return dueForVideo(price.video, asked)
    case 'moderation':
      return creditsOf(price.moderation, price.moderation.credits)
    case 'rerank':
      return creditsOf(price.rerank, price.rerank.perSearch * searchesAsked(asked))
    case 'speech':
      return dueForSpeech(price.speech, asked)
    case 'transcription':
      return creditsOf(price.transcription, price.transcription.prices[0]!.perSecond * secondsOf(asked))
    case 'chat':
    case 'embedding': {
      // Of embeddings the input alone is reported.
      const { input } = tokensOf(row, '', { input: reportedBy(manner)?.input ?? 0, output: 0 })
      return dueForTokens(row, { ...price.embedding, cachedInput: 0, cacheWrite: 0, perCall: 0 }, { input, output: 0 })
    }
  }
}

/** Pictures are paid one by one: those that came of what was asked for, and one at least. */
function dueForPictures(price: Prices['image'], asked: Asked, { missing }: Manner): number {
  const n = picturesOf(asked)
  const { resolution } = shapeOf('image', asked)
  const row = price.prices.find((one) => one.resolution === undefined || one.resolution === resolution)!
  return creditsOf(price, row.credits * Math.min(n, Math.max(1, n - missing)))
}

function dueForVideo(price: Prices['video'], asked: Asked): number {
  const { resolution, duration = 0 } = shapeOf('video', asked)
  const row = price.prices.find((one) => one.resolution === undefined || one.resolution === resolution)!
  return creditsOf(price, row.perSecond * duration)
}

/** Speech is paid by its characters and those of its instructions, however much of it came. */
function dueForSpeech(price: Prices['speech'], asked: Asked): number {
  const { input, instructions = '' } = spokenOf(asked)
  const characters = Array.from(input + instructions).length
  const { perCharacter, perCharacters, minimum } = price
  return creditsOf(price, Math.max(characters * perCharacter, minimum * perCharacters), perCharacters)
}
