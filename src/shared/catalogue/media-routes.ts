/**
 * Which of a model's upstreams can serve a request for a picture or a video whole. What a customer names is sent or
 * refused, and never omitted while it is charged: a route that would omit something is skipped.
 */
import type { MediaRequest } from '../requests/requests.ts'
import type { Protocol, Route } from './catalogue.ts'

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
}

/** What is uploaded. A route that drops `image_url` edits nothing. */
const OF_FILES: ReadonlySet<string> = new Set(['images', 'mask'] satisfies (keyof MediaRequest)[])

/** Whether a route takes pictures as files: OpenAI's form, unless the route states that its server takes an address. */
const takesFiles = ({ upstream, rename }: Route): boolean =>
  upstream.protocol === 'openai' && !Object.hasOwn(rename, 'image_url')

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
  if (OF_FILES.has(field)) return takesFiles(route) && !drop.includes('image_url') && !drop.includes(field)
  if (drop.includes(field) || UNKNOWN[upstream.protocol].includes(field)) return false
  if (isDearer(field, request[field]) && !allow.includes(field)) return false
  return !Object.hasOwn(set, field) || set[field] === request[field]
}

/** The routes that send all that a request names, in their order. */
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
