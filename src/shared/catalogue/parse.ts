/** From the content of a version to the catalogue that a process uses. */
import { readFileSync } from 'node:fs'
import type { z } from 'zod'
import type { Config } from '../platform/config/config.ts'
import { UNSTATED_MAX_SECONDS } from '../requests/media-options.ts'
import type { MediaPrice } from '../terms/pricing.ts'
import { shareOf } from '../terms/pricing.ts'
import type {
  Catalogue,
  Group,
  MediaModel,
  Model,
  NamedKey,
  Offer,
  PoolKey,
  Upstream,
  WrittenModel,
} from './catalogue.ts'
import { DEFAULT_KEY, catalogueSchema, keysFor } from './catalogue.ts'
import type { Fault, ValidCatalogue } from './faults.ts'
import { BadCatalogue, faultsOfShape, refusedOf, privateUpstreams } from './faults.ts'
import { faultsOfRules } from './route-rules.ts'

/** The largest text of a catalogue, in bytes. */
const MAX_CATALOGUE_BYTES = 1_000_000

/** The content of a catalogue's text, which may be any JSON. @throws BadCatalogue if it is not JSON, or too long */
function readJson(text: string): unknown {
  if (Buffer.byteLength(text) > MAX_CATALOGUE_BYTES)
    throw new BadCatalogue([{ path: '(top)', message: `must have at most ${MAX_CATALOGUE_BYTES} bytes` }])
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new BadCatalogue([{ path: '(top)', message: `is not JSON: ${(error as Error).message}` }])
  }
}

/** The content of a catalogue's file. @throws BadCatalogue if it cannot be read, or is not JSON */
export function readCatalogueFile(path: string): unknown {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw new BadCatalogue([{ path: '(top)', message: `cannot be read: ${(error as Error).message}` }])
  }
  return readJson(text)
}

/**
 * The catalogue of a content. An upstream whose key this process does not have is not configured; nor is what breaks a
 * rule that is newer than its version.
 * @param secretOf reads the keys; they are never shown
 * @throws BadCatalogue that names every fault by its path
 */
export function parseCatalogue(
  content: unknown,
  { version, createdAt }: Pick<Catalogue, 'version' | 'createdAt'>,
  secretOf: Config['secretOf'],
): Catalogue {
  const faults = faultsOfShape(content)
  if (faults.length > 0) throw new BadCatalogue(faults)
  const file = catalogueSchema.parse(content)
  const upstreams = configuredUpstreams(file, secretOf)
  const models = file.models
    .filter((model) => model.enabled)
    .map((model): [string, Model] => {
      const longest = model.modality === 'chat' ? { contextLength: model.contextLength } : {}
      const routes = model.upstreams.flatMap(({ upstream: name, ...entry }) => {
        const upstream = upstreams.get(name)
        if (!upstream || faultsOfRules(entry, model).length > 0) return []
        const route = { ...longest, ...entry, upstream }
        return keysFor(route).length > 0 ? [route] : []
      })
      return [model.id, offeredAt(model, { version, routes })]
    })
  const { creditMicroUsd = null, packs, topUp = null } = file
  const configured = [...upstreams.values()]
  const offer: Offer = { version, createdAt, creditMicroUsd, models: new Map(models) }
  return {
    ...offer,
    groups: new Map(Object.entries(file.groups).map(([name, group]) => [name, groupOf(group, offer)])),
    upstreams: configured,
    pools: poolsOf(file, upstreams),
    packs,
    topUp,
    refused: refusedOf(content),
  }
}

/** A group, with what it is offered of all that there is. */
function groupOf(
  { priceBasisPoints, models: seen, ...limits }: z.infer<typeof catalogueSchema>['groups'][string],
  whole: Offer,
): Group {
  const models = [...whole.models.values()]
    .filter(({ id }) => seen?.includes(id) ?? true)
    .map((model): [string, Model] => [model.id, { ...model, price: shareOf(model.price, priceBasisPoints) } as Model])
  return { ...limits, offer: { ...whole, models: new Map(models) } }
}

/** A model as it is offered, with its price. */
const offeredAt = (model: WrittenModel, offer: Pick<Model, 'version' | 'routes'>): Model =>
  ({ ...model, ...offer, price: 'pricing' in model ? model.pricing : pricePerCall(model) }) as Model

const pricePerCall = ({ prices, credits = 0 }: Pick<MediaModel, 'prices' | 'credits'>): MediaPrice =>
  prices ? { prices } : { credits }

type WrittenUpstream = z.infer<typeof catalogueSchema>['upstreams'][string]

/** The keys of an upstream as the catalogue names them; one that needs no key has one without a variable. */
const writtenKeys = ({ keys, apiKeyEnv }: Pick<WrittenUpstream, 'keys' | 'apiKeyEnv'>) =>
  keys ?? [{ name: DEFAULT_KEY, apiKeyEnv, weight: 1 }]

function configuredUpstreams(
  file: z.infer<typeof catalogueSchema>,
  secretOf: Config['secretOf'],
): Map<string, Upstream> {
  const upstreams = new Map<string, Upstream>()
  for (const [name, { apiKeyEnv, keys: written, ...upstream }] of Object.entries(file.upstreams)) {
    const keys = writtenKeys({ apiKeyEnv, keys: written }).flatMap(({ apiKeyEnv: variable, ...key }): PoolKey[] => {
      const secret = variable === undefined ? null : secretOf(variable)
      return secret === undefined ? [] : [{ ...key, secret }]
    })
    const [first] = keys
    if (first) upstreams.set(name, { ...upstream, name, keys, key: first.name, apiKey: first.secret })
  }
  return upstreams
}

/** Every upstream with its keys, configured or not. */
const poolsOf = (file: z.infer<typeof catalogueSchema>, upstreams: ReadonlyMap<string, Upstream>) =>
  new Map(
    Object.entries(file.upstreams).map(([name, upstream]): [string, NamedKey[]] => [
      name,
      writtenKeys(upstream).map((key) => ({
        name: key.name,
        variable: key.apiKeyEnv ?? null,
        configured: upstreams.get(name)?.keys.some((one) => one.name === key.name) ?? false,
      })),
    ]),
  )

/** Every key of a catalogue whose variable has no value here. */
export const missingKeys = ({ pools }: Pick<Catalogue, 'pools'>): Fault[] =>
  [...pools].flatMap(([upstream, keys]) =>
    keys
      .filter(({ configured }) => !configured)
      .map(({ name, variable }) => ({
        path: `upstreams.${upstream}`,
        message: `the key "${name}" is not configured: set ${variable} for web and workers, then restart them`,
      })),
  )

/** What an operator should know of a valid content, and may apply all the same. */
export const warningsOf = (content: unknown, secretOf: Config['secretOf']): Fault[] => [
  ...privateUpstreams((content as ValidCatalogue).upstreams),
  ...missingKeys(parseCatalogue(content, { version: 0, createdAt: 0 }, secretOf)),
]

/**
 * Warnings about a catalogue, one sentence each: which parts are not used, because the version is older than the rule
 * that it breaks; a video costs the same however long it is, so its model should state durations; and an upstream in a
 * private network should state whether it fetches images.
 */
export function catalogueWarnings({ models, upstreams, refused }: Catalogue): string[] {
  const fetching = privateUpstreams(Object.fromEntries(upstreams.map((one) => [one.name, one])))
  const unused = refused.map(({ path, message }) => `Not used of the catalogue: ${path}: ${message}.`)
  const unstated = [...models.values()]
    .filter((model) => model.modality === 'video' && model.routes.length > 0 && model.durations === undefined)
    .map(
      ({ id }) =>
        `The video model "${id}" states no durations: up to ${UNSTATED_MAX_SECONDS} seconds cost the same, ` +
        'and where a request names none, the upstream decides how long its video is.',
    )
  return [...unused, ...unstated, ...fetching.map(({ path, message }) => `${path} ${message}.`)]
}
