/** What the models of the simulation offer, what they cost, and the upstream that serves them. */
import type { Upstream as UpstreamEntry } from '../../../src/shared/catalogue/catalogue.ts'
import type { Share } from '../../../src/shared/terms/pricing.ts'

/** What the pictures and the videos of the simulation are. */
export const IMAGE = { resolutions: ['1K', '2K'] as [string, string] }
export const VIDEO = { durations: [5, 7.5], resolutions: ['720p', '1080p'] }

const CHAT = { input: 1000, output: 2000, cachedInput: 100, cacheWrite: 1250, perCall: 1, perTokens: 1000, minimum: 2 }

/** The prices that a simulation begins with, by model. A change makes new objects, so they can be shared. */
export const PRICES = {
  chat: CHAT,
  dear: { ...CHAT, output: 4100, perCall: 3 },
  image: { prices: [{ resolution: '2K', credits: 90 }, { credits: 40 }] },
  video: { prices: [{ resolution: '1080p', perSecond: 90 }, { perSecond: 50 }] },
  embedding: { input: 2, perTokens: 1, minimum: 1 },
  moderation: { credits: 0 },
  rerank: { perSearch: 25 },
  speech: { perCharacter: 5, perCharacters: 7, minimum: 15 },
  transcription: { prices: [{ perSecond: 3 }] },
}

/** Prices by model, as an account pays them. */
export type Prices = { [Id in keyof typeof PRICES]: (typeof PRICES)[Id] & Share }

/** The upstream, with so many keys. */
export const upstreamWith = (keys: number): UpstreamEntry => ({
  name: 'scripted',
  protocol: 'openai',
  baseUrl: 'http://upstream.test',
  results: 'store',
  headers: {},
  keys: Array.from({ length: keys }, (_key, at) => ({ name: `key-${at}`, secret: null, weight: 1 })),
  key: 'key-0',
  apiKey: null,
})
