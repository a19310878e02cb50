import { PROTOCOLS, SERVED } from '../../../src/shared/catalogue/catalogue.ts'
import type { Protocol } from '../../../src/shared/catalogue/catalogue.ts'
import type { Modality } from '../../../src/shared/terms/kinds.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import type { Catalogue, TestWeb } from '../../../scripts/harness/harness.ts'
import { post } from '../../../scripts/harness/http.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { CHAT, IMAGES, VIDEOS } from '../../../scripts/harness/calling.ts'

/** A protocol, and something that it makes. */
export type Target = { protocol: Protocol; modality: Asked }

/** What is asked for here: the others have tests of their own. */
export type Asked = Extract<Modality, 'chat' | 'image' | 'video'>

const isAsked = (modality: Modality): modality is Asked =>
  modality === 'chat' || modality === 'image' || modality === 'video'

/** How a result is delivered: within one request, as for chats and some images, or as a task. */
export type Delivery = 'chat' | 'direct' | 'task'

/** Everything that any protocol serves. */
export const TARGETS: Target[] = PROTOCOLS.flatMap((protocol) =>
  SERVED[protocol].filter(isAsked).map((modality) => ({ protocol, modality })),
)

/** The targets of one kind of delivery, or of several. */
export const targetsOf = (...deliveries: Delivery[]): Target[] =>
  TARGETS.filter((target) => deliveries.includes(deliveryOf(target)))

const DIRECT_IMAGES: readonly Protocol[] = ['openai', 'gemini', 'openrouter']

export function deliveryOf({ protocol, modality }: Target): Delivery {
  if (modality === 'chat') return 'chat'
  return modality === 'image' && DIRECT_IMAGES.includes(protocol) ? 'direct' : 'task'
}

/** The paths at which the sandbox speaks each protocol. */
const BASES: Record<Protocol, string> = {
  openai: '/v1',
  anthropic: '/anthropic',
  responses: '/v1',
  gemini: '/gemini',
  fal: '/fal',
  replicate: '/replicate/v1',
  openrouter: '/openrouter/api/v1',
}

/** Credits of an image or a video, and of a chat for each ten tokens. */
export const PRICES = { image: 40, video: 250, input: 10, output: 20 } as const

/** What a chat with `[usage 100 50]` costs, in credits. */
export const CHAT_COST = 200

/** The whole-call deadline of the models whose names begin with `hasty-`, in seconds. */
const HASTY_SECONDS = 3

export const modelOf = ({ protocol, modality }: Target, prefix = ''): string => `${prefix}${protocol}-${modality}`

const priceOf = (modality: Asked): object =>
  modality === 'chat'
    ? { pricing: { input: PRICES.input, output: PRICES.output, perTokens: 10, minimum: 1 } }
    : { credits: PRICES[modality] }

/** The models whose names begin so have upstreams of their own, whose keys are refused without harm to others. */
const APART = ['quota-', 'limited-'] as const

/** An entry of the catalogue's models. */
export const modelEntry = (
  id: string,
  modality: Asked,
  upstreams: object[],
  more: object = {},
): Record<string, unknown> => ({ id, modality, ...priceOf(modality), upstreams, ...more })

/**
 * Adds an upstream of every protocol to a catalogue, each a part of the sandbox, and models for all that they serve.
 */
export function everyProtocol(catalogue: Catalogue): void {
  const root = rootOf(catalogue)
  const upstreamOf = (protocol: Protocol) => ({
    protocol,
    baseUrl: `${root}${BASES[protocol]}`,
    apiKeyEnv: 'SANDBOX_API_KEY',
  })
  for (const protocol of PROTOCOLS) catalogue.upstreams[protocol] = upstreamOf(protocol)
  for (const target of TARGETS) {
    const { protocol, modality } = target
    // The sandbox's fal and Replicate judge by the name what a model makes.
    const upstreams = [{ upstream: protocol, model: `sandbox/${modality}` }]
    catalogue.models.push(modelEntry(modelOf(target), modality, upstreams))
    for (const prefix of APART) {
      const upstream = modelOf(target, prefix)
      catalogue.upstreams[upstream] = upstreamOf(protocol)
      catalogue.models.push(modelEntry(upstream, modality, [{ ...upstreams[0], upstream }]))
    }
    catalogue.models.push(modelEntry(modelOf(target, 'hasty-'), modality, upstreams, { timeoutSeconds: HASTY_SECONDS }))
  }
}

/** The origin of the sandbox that a catalogue was made for. */
const rootOf = ({ upstreams }: Catalogue): string => new URL((upstreams.sandbox as { baseUrl: string }).baseUrl).origin

const PATHS: Record<Asked, string> = { chat: CHAT, image: IMAGES, video: VIDEOS }

/** The options of a target's call besides its prompt. */
export type Asking = { prefix?: string; more?: object; headers?: Record<string, string> }

/** The body of a target's call. */
export function bodyOf(target: Target, prompt: string, { prefix, more }: Asking = {}): Record<string, unknown> {
  const asked = target.modality === 'chat' ? { messages: [{ role: 'user', content: prompt }] } : { prompt }
  return { model: modelOf(target, prefix), ...asked, ...more }
}

/** Makes a target's call and reads its whole answer. */
export const ask = (
  { url }: Pick<TestWeb, 'url'>,
  { key }: TestAccount,
  target: Target,
  prompt: string,
  asking: Asking = {},
): Promise<Reply> => post(`${url}${PATHS[target.modality]}`, key, bodyOf(target, prompt, asking), asking.headers)

/** An account that can pay for anything here. */
export const FUNDS = 100_000
export const aFundedAccount = ({ db }: Pick<TestWeb, 'db'>): Promise<TestAccount> => anAccount(db, FUNDS)
