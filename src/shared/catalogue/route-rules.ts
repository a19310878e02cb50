/**
 * What `rename`, `drop`, `set` and `allow` of a model's upstream may do (docs/upstreams/models.md#adapt-the-request).
 * A call is charged for its fields before it is sent, so no rule may remove, replace or let a customer
 * write a field that bounds or routes the bill.
 */
import { isBilled } from '../requests/billed-fields.ts'
import type { MediaRequest } from '../requests/requests.ts'
import type { Protocol, Route } from './catalogue.ts'

/** Forms of a renamed field's value, written behind the new name: `"duration": "duration:string"`. */
const FORMS = ['string', 'seconds', 'integer', 'list'] as const
/** One of them. */
export type Form = (typeof FORMS)[number]

const isForm = (text: string): boolean => FORMS.some((form) => form === text)

/**
 * Fields that bound or route the bill, by what they are: one may be renamed within its kind and not otherwise.
 * `fixed` ones are sent as they were charged: never dropped, set or allowed. `loose` ones are what upstreams call the
 * same thing; the operator may set them, and no customer writes them by another name.
 */
const KINDS: readonly { fixed: readonly string[]; loose?: readonly string[] }[] = [
  { fixed: ['max_tokens', 'max_completion_tokens', 'max_output_tokens', 'max_new_tokens'] },
  {
    fixed: [
      'n',
      'num_images',
      'num_outputs',
      'num_generations',
      'num_images_per_prompt',
      'candidate_count',
      'best_of',
      'batch_size',
    ],
  },
  { fixed: ['model'] },
  { fixed: ['messages'] },
  { fixed: ['query'] },
  { fixed: ['documents'], loose: ['texts', 'passages'] },
  { fixed: ['stream'] },
  { fixed: ['stream_options'] },
  { fixed: ['prompt'], loose: ['text', 'text_prompt', 'input'] },
  { fixed: ['duration', 'seconds', 'duration_seconds', 'num_seconds'], loose: ['length', 'video_length'] },
  { fixed: ['resolution', 'size'], loose: ['image_size', 'video_size', 'aspect_ratio', 'quality'] },
]

const FIELD_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/

const kindOf = (name: string) => KINDS.find(({ fixed, loose = [] }) => fixed.includes(name) || loose.includes(name))

const isFixed = (name: string): boolean => kindOf(name)?.fixed.includes(name) ?? false

/** A rule that may not be: its path within the entry, and why. */
type RuleFault = { path: string; message: string }

/** The rules of one of a model's upstreams, of which an old version of the catalogue may have any. */
export type RouteRules = {
  rename?: Readonly<Record<string, string>>
  drop?: readonly string[]
  set?: Readonly<Record<string, unknown>>
  allow?: readonly string[]
}

/** Whether an upstream of a model is not sent a field as its customer writes it: then it is not to be asked for. */
export const isLeftOut = (field: string, { upstreams }: { upstreams: readonly Required<RouteRules>[] }): boolean =>
  upstreams.some(({ drop, set }) => drop.includes(field) || Object.hasOwn(set, field))

/** What the rules of a model depend on. */
export type RuledModel = {
  modality?: unknown
  durations?: unknown
  resolutions?: unknown
  sizes?: unknown
  qualities?: unknown
}

/** Every fault of the rules of one of a model's upstreams; paths begin in that entry. */
export const faultsOfRules = (rules: RouteRules, model: RuledModel): RuleFault[] => [
  ...Object.entries(rules.rename ?? {}).flatMap(([from, to]) => at(`rename.${from}`, faultOfRename(from, to, model))),
  ...(rules.drop ?? []).flatMap((name, index) => at(`drop[${index}]`, faultOfDrop(name, model))),
  ...Object.keys(rules.set ?? {}).flatMap((name) => at(`set.${name}`, faultOfSet(name, rules.rename ?? {}, model))),
  ...(rules.allow ?? []).flatMap((name, index) => at(`allow[${index}]`, faultOfPath(name) ?? faultOfFixed(name))),
]

const at = (path: string, message: string | null): RuleFault[] => (message === null ? [] : [{ path, message }])

const faultOfName = (name: string): string | null =>
  FIELD_NAME.test(name) ? null : `"${name}" is not the name of a field`

/** What `allow` and `drop` name may be a field of an object: `cache_control.ttl`, `output_config.effort`. */
const faultOfPath = (path: string): string | null => {
  const [outer = '', inner, ...deeper] = path.split('.')
  if (inner === undefined || deeper.length > 0) return faultOfName(path)
  return faultOfName(outer) ?? faultOfName(inner) ?? faultOfFixed(outer)
}

const faultOfFixed = (name: string): string | null =>
  isFixed(name) ? `"${name}" bounds or routes the bill: it is sent as it was charged` : null

function faultOfRename(from: string, to: string, model: RuledModel): string | null {
  const [name = '', form] = to.split(':', 2)
  if (to.split(':').length > 2 || (form !== undefined && !isForm(form)))
    return `"${to}" has an unknown form: forms are ${FORMS.join(', ')}`
  const wrongName = faultOfName(from) ?? faultOfName(name)
  if (wrongName !== null) return wrongName
  const kind = kindOf(from)
  if (form !== undefined && isFixed(from) && kind !== LENGTHS && kind?.loose === undefined)
    return `"${from}" is sent as it was charged: it takes no form`
  if (isFixed(from) && kindOf(name) !== kind)
    return `"${from}" bounds or routes the bill, and may only be renamed to ${namesOf(kind)}`
  if (kindOf(name) !== kind && kindOf(name) !== undefined)
    return `"${name}" bounds or routes the bill, and may only be renamed from ${namesOf(kindOf(name))}`
  if (isBilled(name) && name !== from) return `"${name}" is billed: nothing may be renamed to it`
  return form === 'integer' && kind === LENGTHS && !isWhole(model.durations)
    ? 'whole seconds need whole "durations": a list of them, or a whole "min" and a "step" of 1'
    : null
}

const LENGTHS = kindOf('duration')

const namesOf = (kind: (typeof KINDS)[number] | undefined): string =>
  [...(kind?.fixed ?? []), ...(kind?.loose ?? [])].join(', ')

/** Whether all durations that a model offers are whole seconds. */
function isWhole(durations: unknown): boolean {
  if (Array.isArray(durations)) return durations.every((one) => Number.isInteger(one))
  if (typeof durations !== 'object' || durations === null) return false
  const { min, step } = durations as { min?: unknown; step?: unknown }
  return Number.isInteger(min) && Number.isInteger(step)
}

/**
 * Of what a model offers in one way only, there is nothing to send where the upstream makes nothing else. An upstream
 * that makes one picture a call drops `n`: requests for more go to others, or are refused.
 */
function faultOfDrop(name: string, model: RuledModel): string | null {
  if (name === 'n' && model.modality === 'image') return null
  const offered = offeredIn(name, model)
  if (Array.isArray(offered) && offered.length === 1) return faultOfName(name)
  return faultOfPath(name) ?? faultOfFixed(name) ?? faultOfOffered(name, model)
}

/** What a model offers of a field. */
function offeredIn(name: string, { durations, resolutions, sizes, qualities }: RuledModel): unknown {
  if (kindOf(name) === LENGTHS) return durations
  if (name === 'quality') return qualities
  if (name === 'size') return sizes ?? resolutions
  return kindOf(name) === SHAPES ? resolutions : undefined
}

/** A quality that a customer may choose is sent as it was charged. */
const faultOfOffered = (name: string, { qualities }: RuledModel): string | null =>
  name === 'quality' && Array.isArray(qualities) && qualities.length > 1
    ? '"quality" is among what the model offers: it is sent as it was charged'
    : null

const SHAPES = kindOf('resolution')

function faultOfSet(name: string, rename: Readonly<Record<string, string>>, model: RuledModel): string | null {
  const wrong = faultOfName(name) ?? faultOfFixed(name) ?? faultOfOffered(name, model)
  const source = Object.keys(rename).find((from) => isFixed(from) && rename[from]!.split(':')[0] === name)
  return wrong ?? (source === undefined ? null : `"${source}" is renamed to it, and is sent as it was charged`)
}

/** Fields that change a picture and not its price. */
const FREE = [
  'background',
  'output_format',
  'output_compression',
  'moderation',
  'style',
  'input_fidelity',
  'seed',
  'user',
] as const satisfies (keyof MediaRequest)[]

/** Those of which a protocol knows nothing. Models of fal and Replicate have schemas of their own, so theirs may. */
const UNKNOWN: Record<Protocol, readonly string[]> = {
  openai: [],
  openrouter: ['background', 'output_compression', 'moderation', 'style', 'input_fidelity'],
  fal: [],
  replicate: [],
  anthropic: [],
  responses: [],
  // One picture for a request, in the form that its model chooses.
  gemini: ['n', 'mask', 'background', 'output_format', 'output_compression', 'moderation', 'style', 'input_fidelity'],
}

/** What is uploaded. A route that drops `image_url` edits nothing. */
const OF_FILES: ReadonlySet<string> = new Set(['images', 'mask'] satisfies (keyof MediaRequest)[])

/** Whether a route takes pictures as files or data, unless it states that its server takes an address. */
const takesFiles = ({ upstream, rename }: Route): boolean =>
  (upstream.protocol === 'openai' || upstream.protocol === 'gemini') && !Object.hasOwn(rename, 'image_url')

/** A fidelity that upstreams bill as more input: it passes where the operator allows it. */
const isDearer = (field: string, value: unknown): boolean => field === 'input_fidelity' && value !== 'low'

/** What a request names besides its prompt, its shape and the form of its answer. */
const namedFields = (request: MediaRequest): (keyof MediaRequest)[] => [
  ...((request.n ?? 1) > 1 ? (['n'] as const) : []),
  ...(['image_url', 'images', 'mask'] as const).filter((field) => request[field] !== undefined),
  ...FREE.filter((field) => request[field] !== undefined),
]

/** Whether a route sends what is asked for in a field. */
function sends(route: Route, request: MediaRequest, field: keyof MediaRequest): boolean {
  const { upstream, drop, set, allow } = route
  if (drop.includes(field) || UNKNOWN[upstream.protocol].includes(field)) return false
  if (OF_FILES.has(field)) return takesFiles(route) && !drop.includes('image_url')
  if (isDearer(field, request[field]) && !allow.includes(field)) return false
  return !Object.hasOwn(set, field) || set[field] === request[field]
}

/**
 * The routes that send all that a request names, in their order. What a customer names is sent or refused, and never
 * omitted while it is charged: a route that would omit something is skipped.
 */
export function routesFor(routes: readonly Route[], request: MediaRequest): Route[] {
  const fields = namedFields(request)
  return routes.filter((route) => fields.every((field) => sends(route, request, field)))
}

/** The first field of a request that some route omits, where no route serves it whole; null if one does. */
export function unservedField(routes: readonly Route[], request: MediaRequest): keyof MediaRequest | null {
  if (routes.length === 0 || routesFor(routes, request).length > 0) return null
  const fields = namedFields(request)
  const unserved = (field: keyof MediaRequest) => !routes.some((route) => sends(route, request, field))
  return fields.find(unserved) ?? fields.find((field) => !routes.every((route) => sends(route, request, field))) ?? null
}
