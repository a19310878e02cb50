/** Channels, ratios and groups of one-api and new-api as a draft of a catalogue. */
import type { Draft, DraftGroup, DraftModel, DraftPrice } from '../draft/draft.ts'
import { isDraftModality, modalityOf } from '../draft/draft.ts'
import type { Exact } from '../exact.ts'
import { dividedBy, exactOf, times, wholeNumber } from '../exact.ts'
import type { ImportRules } from '../rules.ts'
import type { Reading } from '../tables.ts'
import { rowsOf } from '../tables.ts'
import type { QuotaGateway, ReadChannel } from './channels.ts'
import { readChannel } from './channels.ts'
import { quotaPerDollar, readOptions } from './plan.ts'
import { CHANNELS } from './tables.ts'

/** The group of accounts that have no group here. */
const DEFAULT = 'default'

/** Settings of prices and limits that have no counterpart. */
const LEFT_OUT: readonly [option: string, reason: string][] = [
  ['GroupGroupRatio', 'ratios between two groups have no counterpart'],
  ['ModelRequestRateLimitGroup', 'limits of groups are not taken over: write "rateLimit" into the group by hand'],
  ['billing_setting.billing_expr', 'prices in steps have no counterpart: the first step is not taken over either'],
]

/** A setting that is an object of numbers in JSON, by model or group; null if it is not stored. */
function numbersOf(
  options: ReadonlyMap<string, string>,
  option: string,
  { listed }: Reading,
): Map<string, Exact> | null {
  const stored = options.get(option)?.trim()
  if (!stored) return null
  try {
    const numbers = Object.entries(JSON.parse(stored) as Record<string, unknown>)
    return new Map(
      numbers.flatMap(([name, value]) => {
        const exact = typeof value === 'number' && value >= 0 ? exactOf(String(value)) : null
        return exact ? [[name, exact] as const] : []
      }),
    )
  } catch {
    listed.push({ what: 'option', theirId: option, reason: 'it is not JSON: it is not taken over' })
    return null
  }
}

/** Every table of ratios. One is what a group of that ratio pays; a ratio of 1 is one quota for each token. */
type Ratios = Record<'model' | 'completion' | 'cache' | 'createCache' | 'price' | 'group', Map<string, Exact>>

const ONE = wholeNumber(1n)

/** What a model costs accounts of the default group, in credits; null if no price of it is stored. */
function priceOf(id: string, ratios: Ratios, perDollar: Exact, { creditsPerDollar }: ImportRules): DraftPrice | null {
  const group = ratios.group.get(DEFAULT) ?? ONE
  const price = ratios.price.get(id)
  if (price) return { for: 'call', amount: times(times(price, group), creditsPerDollar) }
  const ratio = ratios.model.get(id)
  if (!ratio) return null
  const input = times(times(ratio, group), dividedBy(creditsPerDollar, perDollar))
  const share = (of: Map<string, Exact>): Exact | null => {
    const its = of.get(id)
    return its ? times(input, its) : null
  }
  return {
    for: 'token',
    input,
    output: share(ratios.completion),
    cachedInput: share(ratios.cache),
    cacheWrite: share(ratios.createCache),
  }
}

/** The models of all channels, with their prices; those without one are listed. */
function modelsOf(
  channels: readonly ReadChannel[],
  price: (id: string) => DraftPrice | null,
  { listed }: Reading,
): DraftModel[] {
  const ids = [...new Set(channels.flatMap(({ models }) => [...models.keys()]))].toSorted()
  return ids.flatMap((id) => {
    const list = (reason: string) => listed.push({ what: 'model', theirId: id, reason })
    const modality = modalityOf(id)
    const its = isDraftModality(modality) ? price(id) : null
    if (!isDraftModality(modality)) list(`it seems to be a model of the kind ${modality}: write its price by hand`)
    else if (!its) list('no price of it is stored: save the ratios there once, or write it by hand')
    if (!isDraftModality(modality) || !its) return []
    const routes = channels.flatMap(({ name, models, priority, weight }) => {
      const model = models.get(id)
      return model === undefined ? [] : [{ upstream: name, model, priority, weight, cost: null }]
    })
    return [{ id, modality, price: its, routes }]
  })
}

/** The groups other than the default one: their share of its prices, and the models of their channels. */
function groupsOf(channels: readonly ReadChannel[], ratios: Ratios, { listed }: Reading): Map<string, DraftGroup> {
  const usual = ratios.group.get(DEFAULT) ?? ONE
  const names = new Set([...ratios.group.keys(), ...channels.flatMap(({ groups }) => groups)])
  names.delete(DEFAULT)
  const seenBy = (name: string): string[] => [
    ...new Set(channels.filter(({ groups }) => groups.includes(name)).flatMap(({ models }) => [...models.keys()])),
  ]
  const hidden = new Set(channels.flatMap(({ models }) => [...models.keys()]))
  for (const id of seenBy(DEFAULT)) hidden.delete(id)
  for (const id of hidden)
    listed.push({
      what: 'model',
      theirId: id,
      reason: 'only groups see it there: here accounts without a group see it, too',
    })
  return new Map(
    [...names].toSorted().map((name) => {
      const ratio = ratios.group.get(name) ?? ONE
      return [name, { ratio: usual.above > 0n ? dividedBy(ratio, usual) : ratio, models: seenBy(name) }]
    }),
  )
}

/** The draft of a database of one-api or new-api. @throws CommandError if it is another one's */
export async function readQuotaDraft(reading: Reading, rules: ImportRules, gateway: QuotaGateway): Promise<Draft> {
  const options = await readOptions(reading)
  const read = (option: string) => numbersOf(options, option, reading) ?? new Map<string, Exact>()
  const ratios: Ratios = {
    model: read('ModelRatio'),
    completion: read('CompletionRatio'),
    cache: read('CacheRatio'),
    createCache: read('CreateCacheRatio'),
    price: read('ModelPrice'),
    group: read('GroupRatio'),
  }
  const channels: ReadChannel[] = []
  for await (const channel of rowsOf(reading, CHANNELS)) {
    const list = (reason: string) => reading.listed.push({ what: 'channel', theirId: channel.id, reason })
    const its = readChannel(channel, gateway, list)
    if (its) channels.push(its)
  }
  for (const [option, reason] of LEFT_OUT) {
    const stored = options.get(option)?.trim() ?? ''
    if (!['', '{}', '[]', 'null'].includes(stored)) reading.listed.push({ what: 'option', theirId: option, reason })
  }
  const perDollar = quotaPerDollar(options)
  return {
    upstreams: new Map(channels.map(({ name, upstream }) => [name, upstream])),
    models: modelsOf(channels, (id) => priceOf(id, ratios, perDollar, rules), reading),
    groups: groupsOf(channels, ratios, reading),
  }
}
