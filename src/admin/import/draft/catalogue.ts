/** A draft in the form of a catalogue. What cannot be written is listed, and nothing of it is applied. */
import type { Protocol } from '../../../shared/catalogue/catalogue.ts'
import { SERVED } from '../../../shared/catalogue/catalogue.ts'
import { WHOLE_PRICE } from '../../../shared/terms/pricing.ts'
import type { Listed } from '../../../shared/operators/import/plan.ts'
import type { Exact } from '../exact.ts'
import { dividedBy, floorOf, isWhole, times, wholeNumber } from '../exact.ts'
import type { ImportRules } from '../rules.ts'
import type { Draft, DraftGroup, DraftModel, DraftRoute, DraftUpstream } from './draft.ts'
import { writtenCost, writtenPrice } from './prices.ts'

/** The most that a weight and a share may be. */
const MAX_WEIGHT = 1000
const MAX_BASIS_POINTS = 100_000

type List = (what: string, theirId: string, reason: string) => void

/** One key is named by its variable alone; more are a pool. */
const writtenKeys = ({ keys }: DraftUpstream): Record<string, unknown> => {
  const [only, ...more] = keys
  if (!only) return {}
  if (more.length === 0 && only.models === null) return { apiKeyEnv: only.variable }
  return {
    keys: keys.map(({ variable, models }, at) => ({
      name: `key-${at + 1}`,
      apiKeyEnv: variable,
      ...(models && { models }),
    })),
  }
}

/**
 * The routes of a model: those of the highest priority share the calls by their weights, if they state any; those of
 * weight 0 are asked after them, in their order.
 */
function writtenRoutes({ modality }: DraftModel, routes: readonly DraftRoute[]): Record<string, unknown> {
  const ordered = routes.toSorted((one, other) => other.priority - one.priority || other.weight - one.weight)
  const first = ordered.filter(({ priority }) => priority === ordered[0]!.priority)
  const heaviest = Math.max(...first.map(({ weight }) => weight))
  const isWritable = heaviest <= MAX_WEIGHT && first.every(({ weight }) => Number.isInteger(weight))
  const scale = isWritable ? 1 : MAX_WEIGHT / heaviest
  const isShared = first.length > 1
  const weightOf = (route: DraftRoute): number => {
    if (!first.includes(route)) return 0
    return heaviest > 0 ? Math.max(1, Math.round(route.weight * scale)) : 1
  }
  return {
    ...(isShared && { routing: 'weight' }),
    upstreams: ordered.map((route) => {
      const cost = route.cost && writtenCost(modality, route.cost)
      const { upstream, model } = route
      return { upstream, model, ...(isShared && { weight: weightOf(route) }), ...(cost && { cost }) }
    }),
  }
}

/** A model in the catalogue; null, and listed, if there is no form for it. */
function writtenModel(model: DraftModel, { upstreams }: Draft, list: List): Record<string, unknown> | null {
  const { id, modality, price } = model
  const routes = model.routes.filter(({ upstream }) => {
    const { protocol } = upstreams.get(upstream)!
    const isServed = SERVED[protocol].includes(modality)
    if (!isServed) list('model', id, `the protocol ${protocol} of ${upstream} does not serve ${modality} models`)
    return isServed
  })
  const written = writtenPrice(model)
  if (!written) list('model', id, `its price has no form for ${modality} models: write it by hand`)
  if (!written || routes.length === 0) return null
  if (written.isRounded)
    list('model', id, 'a price is no whole number of credits for any number of tokens: it is rounded up')
  const isKnown = modality !== 'chat' || price.for === 'call' || price.output !== null
  if (!isKnown) list('model', id, 'its price of output is not stored: the model is off until you set "output"')
  return { id, modality, ...(!isKnown && { enabled: false }), ...written.fields, ...writtenRoutes(model, routes) }
}

/** A group, with the models that are in the draft. */
function writtenGroup(name: string, { ratio, models }: DraftGroup, known: ReadonlySet<unknown>, list: List) {
  const points: Exact = times(ratio, wholeNumber(BigInt(WHOLE_PRICE)))
  const floor = Number(floorOf(points))
  const priceBasisPoints = Math.min(Math.max(1, floor), MAX_BASIS_POINTS)
  if (!isWhole(points) || floor !== priceBasisPoints)
    list('group', name, `its ratio is written as ${priceBasisPoints} ten-thousandths, the closest that there is`)
  const seen = models?.filter((id) => known.has(id)) ?? null
  if (seen?.length === 0) {
    list('group', name, 'no model of the draft is for it: it is left out')
    return null
  }
  return { priceBasisPoints, ...(seen && seen.length < known.size && { models: seen }) }
}

const GROUP = /^(?!none$)[A-Za-z0-9][A-Za-z0-9._-]{0,49}$/i

/** The content of a catalogue. `creditMicroUsd` is left out if a credit is worth no whole number of micro-dollars. */
export function catalogueOf(
  draft: Draft,
  { creditsPerDollar }: ImportRules,
  listed: Listed[],
): Record<string, unknown> {
  const list: List = (what, theirId, reason) => listed.push({ what, theirId, reason })
  const models = draft.models.map((model) => writtenModel(model, draft, list)).filter((one) => one !== null)
  const known = new Set(models.map((one) => one['id']))
  const groups = [...draft.groups].flatMap(([name, group]) => {
    if (!GROUP.test(name)) list('group', name, 'its name is not one that groups may have here: it is left out')
    const written = GROUP.test(name) ? writtenGroup(name, group, known, list) : null
    return written ? [[name, written] as const] : []
  })
  const worth = dividedBy(wholeNumber(1_000_000n), creditsPerDollar)
  return {
    ...(isWhole(worth) && { creditMicroUsd: Number(floorOf(worth)) }),
    ...(groups.length > 0 && { groups: Object.fromEntries(groups) }),
    upstreams: Object.fromEntries(
      [...draft.upstreams].map(([name, upstream]) => {
        const { protocol, baseUrl }: { protocol: Protocol; baseUrl: string } = upstream
        return [name, { protocol, baseUrl, ...writtenKeys(upstream) }]
      }),
    ),
    models,
  }
}
