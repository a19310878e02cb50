/**
 * Whether a catalogue sells anything below its cost. Pure. `marginFaults` is what `admin catalogue check` fails by.
 */
import type { MediaOptions } from '../requests/media-options.ts'
import { UNSTATED_MAX_SECONDS, offeredShapes } from '../requests/media-options.ts'
import type { ChatPrice, EmbeddingPrice, MediaCost, MediaPrice, MediaPriceRow } from '../requests/pricing.ts'
import { chatCost, mediaCost, mediaMicroUsd } from '../requests/pricing.ts'

type EntryWith<Cost> = { upstream: string; cost?: Cost }
/** As it is written: a cost need not state a minimum. */
type WrittenCost = Omit<ChatPrice, 'minimum'> & { minimum?: number }

type PricedEmbedding = {
  modality: 'embedding'
  pricing: EmbeddingPrice
  upstreams: readonly EntryWith<Omit<EmbeddingPrice, 'minimum'> & { minimum?: number }>[]
}
type PricedChat = { modality: 'chat'; pricing: ChatPrice; upstreams: readonly EntryWith<WrittenCost>[] }
type PricedMedia = MediaOptions & {
  credits?: number
  prices?: MediaPriceRow[]
  upstreams: readonly EntryWith<MediaCost>[]
}

/**
 * The part of a valid catalogue that decides its margins: its content is one. Costs are micro-dollars, prices credits.
 */
export type PricedCatalogue = {
  /** What a credit is worth, in micro-dollars. */
  creditMicroUsd?: number
  models: readonly ((PricedChat | PricedEmbedding | PricedMedia) & { enabled?: boolean })[]
}

/** Where a cost exceeds its price: `models[2].upstreams[0].cost.output`, and by how much. */
export type MarginFault = { path: string; message: string }

/**
 * Every cost that exceeds its price, for some call that the model offers. Empty without `creditMicroUsd`, which alone
 * makes the two comparable; upstreams that state no cost and models that are disabled are left out.
 */
export function marginFaults({ creditMicroUsd, models }: PricedCatalogue): MarginFault[] {
  if (creditMicroUsd === undefined) return []
  return models.flatMap((model, index) => {
    if (model.enabled === false) return []
    const at = (nth: number): string => `models[${index}].upstreams[${nth}].cost`
    if (model.modality === 'chat' || model.modality === 'embedding') {
      const price: ChatPrice = { output: 0, ...model.pricing }
      return model.upstreams.flatMap(({ cost }, nth) =>
        cost ? chatFaults(price, { minimum: 0, output: 0, ...cost }, creditMicroUsd, at(nth)) : [],
      )
    }
    return model.upstreams.flatMap(({ cost }, nth) => (cost ? mediaFaults(model, cost, creditMicroUsd, at(nth)) : []))
  })
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
 * A price is `max(minimum, rates · tokens + perCall)`, a cost alike. It never exceeds the price if no rate does, if
 * an empty call does not, and if calls do not whose tokens are just worth the minimum: between those points
 * both are straight lines.
 */
function chatFaults(price: ChatPrice, cost: ChatPrice, credit: number, path: string): MarginFault[] {
  const [prices, costs] = [ratesOf(price), ratesOf(cost)]
  const [pricePer, costPer] = [BigInt(price.perTokens), BigInt(cost.perTokens)]
  const worth = (credits: number): bigint => BigInt(credits) * BigInt(credit)
  const dear = Object.keys(costs).filter((kind): kind is keyof typeof costs => {
    const name = kind as keyof typeof costs
    return BigInt(costs[name]) * pricePer > worth(prices[name]) * costPer
  })
  if (dear.length > 0) {
    const aMillion = (rate: number, per: number): number => Math.round((rate / per) * 1_000_000)
    return dear.map((kind) => ({
      path: `${path}.${kind}`,
      message:
        `costs ${aMillion(costs[kind], cost.perTokens)} micro-dollars for a million tokens, ` +
        `which are sold for ${aMillion(prices[kind] * credit, price.perTokens)}`,
    }))
  }
  const [least, sold] = [chatCost(cost, NOTHING), chatCost(price, NOTHING)]
  if (BigInt(least) > worth(sold))
    return [{ path, message: `costs ${least} micro-dollars a call, sold for ${worth(sold)}` }]
  const atTheMinimum = BigInt(price.minimum - (price.perCall ?? 0))
  const exceeding = Object.entries(costs).some(([kind, rate]) => {
    const scale = BigInt(prices[kind as keyof typeof prices]) * costPer
    return BigInt(rate) * atTheMinimum * pricePer + BigInt(cost.perCall ?? 0) * scale > worth(price.minimum) * scale
  })
  return atTheMinimum > 0n && exceeding
    ? [{ path, message: `exceeds the price of a call whose tokens are just worth the minimum of ${price.minimum}` }]
    : []
}

function mediaFaults(model: PricedMedia, cost: MediaCost, credit: number, path: string): MarginFault[] {
  const price: MediaPrice = model.prices ? { prices: model.prices } : { credits: model.credits ?? 0 }
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
  return [{ path, message: `costs ${costs} micro-dollars${what && ` for ${what}`}, sold for ${sold}` }]
}
