/** Whether a catalogue sells anything below its cost. Pure. `marginFaults` is what `admin catalogue check` fails by. */
import type { z } from 'zod'
import type { catalogueSchema } from './catalogue.ts'
import { MOST_CHARACTERS } from '../requests/speech.ts'
import type { MediaOptions } from '../requests/media-options.ts'
import { UNSTATED_MAX_SECONDS, offeredShapes } from '../requests/media-options.ts'
import { dollarsOf } from '../terms/dollars.ts'
import type { ChatPrice, MediaCost, MediaPrice, Share, SpeechPrice } from '../terms/pricing.ts'
import { WHOLE_PRICE, callCost, chatCost, mediaCost, mediaMicroUsd, searchCost, speechCost } from '../terms/pricing.ts'

type EntryWith<Cost> = { upstream: string; cost?: Cost }
type WrittenModel = z.input<typeof catalogueSchema>['models'][number]
/** What of a model, as it is written, decides its margins: a cost need not state a minimum. */
type Priced<M> = M extends WrittenModel
  ? Pick<M, keyof M & (keyof MediaOptions | 'pricing' | 'prices' | 'credits')> &
      Partial<Pick<M, 'id' | 'enabled'>> & {
        upstreams: readonly EntryWith<NonNullable<M['upstreams'][number]['cost']>>[]
      }
  : never
type PricedModel = Priced<WrittenModel>
type PricedMedia = Extract<PricedModel, { modality: 'image' | 'video' }>

/**
 * The part of a valid catalogue that decides its margins: its content is one. Costs are micro-dollars, prices credits.
 */
export type PricedCatalogue = {
  /** What a credit is worth, in micro-dollars. */
  creditMicroUsd?: number
  models: readonly PricedModel[]
  groups?: Readonly<Record<string, Share & { models?: readonly string[] }>>
}

/** Where a cost exceeds its price: `models[2].upstreams[0].cost.output`, and by how much. */
export type MarginFault = { path: string; message: string }

/**
 * Every cost that exceeds its price, for some call that the model offers, to accounts without a group and to those of
 * each group that may see the model. Empty without `creditMicroUsd`, which alone makes the two comparable; upstreams
 * that state no cost and models that are disabled are skipped.
 */
export function marginFaults({ creditMicroUsd, models, groups = {} }: PricedCatalogue): MarginFault[] {
  if (creditMicroUsd === undefined) return []
  const faultsOf = (share: Share, sees: (model: PricedModel) => boolean): MarginFault[] =>
    models.flatMap((model, index) =>
      model.enabled === false || !sees(model) ? [] : modelFaults(model, { share, credit: creditMicroUsd, index }),
    )
  return [
    ...faultsOf({}, () => true),
    ...Object.entries(groups).flatMap(([name, { models: seen, priceBasisPoints }]) =>
      faultsOf({ priceBasisPoints }, ({ id = '' }) => seen?.includes(id) ?? true).map(({ path, message }) => ({
        path,
        message: `${message} (group "${name}")`,
      })),
    ),
  ]
}

/** How a model is sold: what is paid of its price, what a credit is worth, and its place in the catalogue. */
type Sale = { share: Share; credit: number; index: number }

function modelFaults(model: PricedModel, sale: Sale): MarginFault[] {
  const faultsOf = <Cost>(
    entries: readonly EntryWith<Cost>[],
    faults: (cost: Cost, path: string) => MarginFault[],
  ): MarginFault[] =>
    entries.flatMap(({ cost }, nth) => (cost ? faults(cost, `models[${sale.index}].upstreams[${nth}].cost`) : []))
  switch (model.modality) {
    case 'chat':
    case 'embedding': {
      const price: ChatPrice = { output: 0, ...model.pricing }
      const entries: readonly EntryWith<Partial<ChatPrice> & Pick<ChatPrice, 'input' | 'perTokens'>>[] = model.upstreams
      return faultsOf(entries, (cost, path) => chatFaults(price, { minimum: 0, output: 0, ...cost }, sale, path))
    }
    case 'moderation':
      return faultsOf(model.upstreams, ({ perCall }, path) =>
        flatFaults(perCall, callCost({ ...model, ...sale.share }), 'a call', { sale, path }),
      )
    case 'rerank':
      return faultsOf(model.upstreams, ({ perSearch }, path) =>
        flatFaults(perSearch, searchCost({ ...model.pricing, ...sale.share }, 1), 'a search', { sale, path }),
      )
    case 'speech':
      return faultsOf(model.upstreams, (cost, path) => speechFaults(model.pricing, cost, sale, path))
    case 'transcription': {
      const sold = mediaCost({ prices: model.prices, ...sale.share }, { duration: HOUR })!
      return faultsOf(model.upstreams, ({ perSecond }, path) =>
        flatFaults(perSecond * HOUR, sold, 'an hour', { sale, path }),
      )
    }
    case 'image':
    case 'video': {
      const entries: readonly EntryWith<MediaCost>[] = model.upstreams
      return faultsOf(entries, (cost, path) => mediaFaults(model, cost, sale, path))
    }
  }
}

/** Micro-dollars as people read them. */
const inUsd = (microUsd: number | bigint): string => `$${dollarsOf(Number(microUsd), 1)}`

/** Seconds of an hour: with fewer, the credits of a group would be those of rounding. */
const HOUR = 3600

/** What is sold below its cost, no matter what is asked for. Both are micro-dollars. */
function flatFaults(
  costs: number,
  credits: number,
  what: string,
  { sale, path }: { sale: Sale; path: string },
): MarginFault[] {
  const sold = BigInt(credits) * BigInt(sale.credit)
  return costs > sold ? [{ path, message: `costs ${inUsd(costs)} ${what}, sold for ${inUsd(sold)}` }] : []
}

/** The four kinds of tokens, with what they cost if nothing is stated of a cache. */
const ratesOf = ({ input, output, cachedInput = input, cacheWrite = input }: ChatPrice) => ({
  input,
  cachedInput,
  cacheWrite,
  output,
})

const NOTHING = { input: 0, output: 0 }

/**
 * A price is `max(minimum, rates · tokens + perCall)`, a cost alike, and of the price a share is paid, rounded up. The
 * cost never exceeds it if no rate does, if an empty call does not, and if calls do not whose tokens are just worth
 * what an empty call is sold for: between those points both are straight lines.
 */
function chatFaults(price: ChatPrice, cost: ChatPrice, { share, credit }: Sale, path: string): MarginFault[] {
  const [prices, costs] = [ratesOf(price), ratesOf(cost)]
  // In ten-thousandths, of which a share is a whole number.
  const [points, whole] = [BigInt(share.priceBasisPoints ?? WHOLE_PRICE), BigInt(WHOLE_PRICE)]
  const [pricePer, costPer] = [BigInt(price.perTokens) * whole, BigInt(cost.perTokens)]
  const rateOf = (kind: keyof typeof prices): bigint => BigInt(prices[kind]) * points
  const kinds = Object.keys(costs) as (keyof typeof costs)[]
  const dear = kinds.filter((kind) => BigInt(costs[kind]) * pricePer > rateOf(kind) * BigInt(credit) * costPer)
  if (dear.length > 0) {
    const aMillion = (rate: number, per: number): number => Math.round((rate / per) * 1_000_000)
    return dear.map((kind) => ({
      path: `${path}.${kind}`,
      message:
        `costs ${inUsd(aMillion(costs[kind], cost.perTokens))} for a million tokens, ` +
        `which are sold for ${inUsd(aMillion(Number(rateOf(kind)) * credit, Number(pricePer)))}`,
    }))
  }
  const [least, credits] = [chatCost(cost, NOTHING), chatCost({ ...price, ...share }, NOTHING)]
  const sold = BigInt(credits) * BigInt(credit)
  if (BigInt(least) > sold) return [{ path, message: `costs ${inUsd(least)} a call, sold for ${inUsd(sold)}` }]
  const worthOfTokens = BigInt(credits) * whole - BigInt(price.perCall ?? 0) * points
  const exceeding = kinds.some((kind) => {
    const scale = rateOf(kind) * costPer
    return (
      BigInt(costs[kind]) * worthOfTokens * BigInt(price.perTokens) + BigInt(cost.perCall ?? 0) * scale > sold * scale
    )
  })
  return worthOfTokens > 0n && exceeding
    ? [{ path, message: `exceeds the price of a call whose tokens are just worth the least of ${credits}` }]
    : []
}

function mediaFaults(model: PricedMedia, cost: MediaCost, { share, credit }: Sale, path: string): MarginFault[] {
  const price: MediaPrice & Share = {
    ...(model.prices ? { prices: model.prices } : { credits: model.credits ?? 0 }),
    ...share,
  }
  const worst = offeredShapes(model)
    .flatMap((shape) => {
      const credits = mediaCost(price, shape)
      const costs = mediaMicroUsd(cost, { duration: UNSTATED_MAX_SECONDS, ...shape })
      return credits === null || costs === null ? [] : [{ shape, costs, sold: BigInt(credits) * BigInt(credit) }]
    })
    .find(({ costs, sold }) => BigInt(costs) > sold)
  if (!worst) return []
  const { shape, costs, sold } = worst
  const { duration, resolution, size, quality } = shape
  const what = [duration && `${duration} s`, resolution, size, quality].filter(Boolean).join(' of ')
  return [{ path, message: `costs ${inUsd(costs)}${what && ` for ${what}`}, sold for ${inUsd(sold)}` }]
}

/** Costs rise in steps, as prices do: every length that a request may have is checked. */
function speechFaults(price: SpeechPrice, cost: SpeechPrice, { share, credit }: Sale, path: string): MarginFault[] {
  for (let characters = 1; characters <= MOST_CHARACTERS; characters++) {
    const costs = speechCost(cost, characters)
    const sold = BigInt(speechCost({ ...price, ...share }, characters)) * BigInt(credit)
    if (BigInt(costs) > sold)
      return [{ path, message: `costs ${inUsd(costs)} for ${characters} characters, sold for ${inUsd(sold)}` }]
  }
  return []
}
