/** The faults of a catalogue: all of them at once, each with its path. */
import { z } from 'zod'
import { isOwnVariable } from '../platform/config/config.ts'
import { QUEUES, isModality } from '../terms/kinds.ts'
import { fieldFault, fieldPath } from '../platform/field-errors.ts'
import { SERVED, catalogueSchema } from './catalogue.ts'
import { modelFields } from './model-schemas.ts'
import type { Protocol } from './catalogue.ts'
import type { RouteRules } from './route-rules.ts'
import type { Fields } from '../platform/fields.ts'
import { asList, isFields } from '../platform/fields.ts'
import { faultsOfRules } from './route-rules.ts'
import { namesPublicHost } from '../requests/addresses.ts'

/** One fault: `models[0].pricing.input`, `is required`. The path of the whole is `(top)`. */
export type Fault = { path: string; message: string }

/** A catalogue that cannot be used. Its message names every fault. */
export class BadCatalogue extends Error {
  readonly faults: readonly Fault[]

  constructor(faults: readonly Fault[]) {
    super(`The catalogue is not valid: ${faultText(faults, '; ')}.`)
    this.name = 'BadCatalogue'
    this.faults = faults
  }
}

/** Faults as text, one after the other. */
export const faultText = (faults: readonly Fault[], between = '\n'): string =>
  faults.map(({ path, message }) => `${path}: ${message}`).join(between)

/**
 * Every fault of a catalogue's content, those of its shape before those between its parts; none if it is valid, and may
 * be applied.
 */
export const faultsOf = (content: unknown): Fault[] => [...faultsOfShape(content), ...refusedOf(content)]

/** Faults for which no process can use a content: what breaks the schema, and names of nothing. */
export function faultsOfShape(content: unknown): Fault[] {
  if (isTooDeep(content, MAX_DEPTH)) return [{ path: '(top)', message: `is nested more than ${MAX_DEPTH} levels deep` }]
  const parsed = catalogueSchema.safeParse(content, { error: fieldFault })
  return [...(parsed.error?.issues ?? []).flatMap(faultsOfIssue), ...hiddenFaults(content), ...faultsBetween(content)]
}

/** How deep a catalogue may be nested: it is walked recursively. */
const MAX_DEPTH = 32

const isTooDeep = (value: unknown, levels: number): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((one) => isTooDeep(one, levels - 1)))

type Issue = z.core.$ZodIssue

const faultsOfIssue = (issue: Issue): Fault[] =>
  issue.code === 'unrecognized_keys'
    ? issue.keys.map((key) => ({ path: pathText([...issue.path, key]), message: 'is not a known field' }))
    : [{ path: pathText(issue.path), message: issue.message }]

const pathText = (path: readonly PropertyKey[]): string => fieldPath(path) || '(top)'

/** The models of a content of any shape, with their places. */
const modelsOf = (content: unknown): [index: number, model: Fields][] =>
  asList(isFields(content) ? content.models : undefined).flatMap((model, index): [number, Fields][] =>
    isFields(model) ? [[index, model]] : [],
  )

const commonFields = z.object(modelFields)

/** If the modality is wrong, it is unknown which fields a model has, so that the schema checks none of them. */
const hiddenFaults = (content: unknown): Fault[] =>
  modelsOf(content)
    .filter(([, model]) => !isModality(model.modality))
    .flatMap(([index, model]) =>
      (commonFields.safeParse(model, { error: fieldFault }).error?.issues ?? []).flatMap((issue) =>
        faultsOfIssue({ ...issue, path: ['models', index, ...issue.path] }),
      ),
    )

/**
 * Faults for which a process leaves out one upstream or one way to serve a model, and uses the rest: a version that was
 * applied before a rule was made may have them, a new one may not. Empty where the content is nested too deeply.
 */
export function refusedOf(content: unknown): Fault[] {
  if (isTooDeep(content, MAX_DEPTH)) return []
  const upstreams = isFields(content) && isFields(content.upstreams) ? content.upstreams : {}
  const keys = Object.entries(upstreams).flatMap(([name, upstream]) =>
    variablesOf(upstream).flatMap(([variable, ...path]) =>
      isOwnVariable(variable, QUEUES)
        ? [{ path: pathText(['upstreams', name, ...path, 'apiKeyEnv']), message: OWN_VARIABLE }]
        : [],
    ),
  )
  const rules = modelsOf(content).flatMap(([index, model]) =>
    asList(model.upstreams).flatMap((entry, at) =>
      faultsOfRules(rulesOf(entry), model).map(({ path, message }) => ({
        path: `${pathText(['models', index, 'upstreams', at])}.${path}`,
        message,
      })),
    ),
  )
  return [...keys, ...rules]
}

/** The variables that an upstream of any shape names for its keys, each with its place. */
function variablesOf(upstream: unknown): [variable: string, ...path: PropertyKey[]][] {
  const { apiKeyEnv, keys } = isFields(upstream) ? upstream : {}
  const listed = asList(keys).map((key, at): [unknown, ...PropertyKey[]] => [
    isFields(key) ? key.apiKeyEnv : undefined,
    'keys',
    at,
  ])
  return [[apiKeyEnv] as [unknown], ...listed].filter((one): one is [string, ...PropertyKey[]] => isText(one[0]))
}

const OWN_VARIABLE = 'is read by Tollgate or what it runs on: its value is no key of an upstream. Name another variable'

const isText = (value: unknown): value is string => typeof value === 'string'

/** The rules of an entry of any shape: a part that is no rule is a fault of its shape. */
function rulesOf(entry: unknown): RouteRules {
  const { rename, drop, set, allow } = isFields(entry) ? entry : {}
  return {
    rename: Object.fromEntries(
      Object.entries(isFields(rename) ? rename : {}).filter((one): one is [string, string] => isText(one[1])),
    ),
    drop: asList(drop).filter(isText),
    set: isFields(set) ? set : {},
    allow: asList(allow).filter(isText),
  }
}

/** Faults between fields: ids that occur twice, upstreams that do not exist or serve no such model. */
function faultsBetween(content: unknown): Fault[] {
  const upstreams = isFields(content) && isFields(content.upstreams) ? content.upstreams : {}
  const faults: Fault[] = []
  const seen = new Set<unknown>()
  for (const [index, { id, modality, upstreams: entries }] of modelsOf(content)) {
    if (typeof id === 'string' && seen.has(id)) {
      faults.push({ path: `models[${index}].id`, message: `"${id}" appears more than once` })
    }
    seen.add(id)
    asList(entries).forEach((entry, at) => {
      const name = isFields(entry) ? entry.upstream : undefined
      if (typeof name !== 'string' || name === '') return
      const fault = faultOfRoute(upstreams, name, modality)
      if (fault) faults.push({ path: `models[${index}].upstreams[${at}].upstream`, message: fault })
    })
  }
  return [...faults, ...faultsOfGroups(isFields(content) ? content.groups : undefined, seen)]
}

/** Models that a group lists and that do not exist. @param ids of the models */
function faultsOfGroups(groups: unknown, ids: ReadonlySet<unknown>): Fault[] {
  return Object.entries(isFields(groups) ? groups : {}).flatMap(([name, group]) =>
    asList(isFields(group) ? group.models : undefined).flatMap((id, at) =>
      typeof id === 'string' && !ids.has(id)
        ? [{ path: pathText(['groups', name, 'models', at]), message: `there is no model "${id}"` }]
        : [],
    ),
  )
}

function faultOfRoute(upstreams: Fields, name: string, modality: unknown): string | null {
  if (!Object.hasOwn(upstreams, name)) return `there is no upstream "${name}"`
  const upstream = upstreams[name]
  const protocol = isFields(upstream) ? upstream.protocol : undefined
  if (typeof protocol !== 'string' || !Object.hasOwn(SERVED, protocol)) return null
  const served: readonly unknown[] = SERVED[protocol as Protocol]
  return isModality(modality) && !served.includes(modality)
    ? `the protocol ${protocol} does not serve ${String(modality)} models`
    : null
}

/** The fields of an upstream that decide it. */
type Fetching = { baseUrl: string; fetchImages?: boolean | undefined }

/** The part of a valid catalogue's content that is checked. */
export type ValidCatalogue = { upstreams: Readonly<Record<string, Fetching>> }

/**
 * Every upstream of a valid catalogue at a private address whose entry does not state who fetches images
 * (docs/upstreams/README.md#fetch-images): it may fetch customers' addresses by itself. Warnings, not faults: whether
 * it does only its operator knows.
 */
export const privateUpstreams = (upstreams: ValidCatalogue['upstreams']): Fault[] =>
  Object.entries(upstreams)
    .filter(([, { baseUrl, fetchImages }]) => fetchImages === undefined && !namesPublicHost(new URL(baseUrl)))
    .map(([name]) => ({
      path: `upstreams.${name}`,
      message:
        'is in a private network and may fetch the addresses of images that customers name, which can lead there: ' +
        'set "fetchImages" to true, so that they are fetched here, or to false if it fetches nothing',
    }))
