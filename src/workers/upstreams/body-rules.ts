/**
 * A route's `drop`, `rename` and `set`, applied to the outgoing body in that order: upstreams call
 * the same thing by different names, and refuse what they do not know.
 */
import type { Route } from '../../shared/catalogue/catalogue.ts'
import type { Form } from '../../shared/catalogue/route-rules.ts'
import { UpstreamError } from './adapter.ts'
import { isFields } from '../../shared/platform/fields.ts'
import type { Fields } from '../../shared/platform/fields.ts'

/** The rules of a route. */
export type BodyRules = Pick<Route, 'rename' | 'drop' | 'set'>

/** How the forms write a value: video models want 5, "5" or "5s", and image models one address or a list of them. */
const FORMS: Readonly<Record<Form, (value: unknown) => unknown>> = {
  string: (value) => String(value),
  seconds: (value) => `${String(value)}s`,
  // Down: a length that is sent must not be longer than the one that was priced. The catalogue's check asks for whole
  // durations with it.
  integer: (value) => Math.floor(Number(value)),
  list: (value) => [value],
}

/**
 * The body as this upstream wants it.
 * @throws UpstreamError `rejected` for a form that does not exist
 */
export function applyRules(body: Fields, { rename, drop, set }: BodyRules): Fields {
  const dressed = { ...body }
  for (const name of drop) remove(dressed, name)
  for (const [from, to] of Object.entries(rename)) {
    if (dressed[from] === undefined) continue
    const value = dressed[from]
    delete dressed[from]
    const [name, form] = to.split(':', 2) as [string, string?]
    dressed[name] = form === undefined ? value : formed(value, form, to)
  }
  return { ...dressed, ...set }
}

/** Removes a field, or one of an object in it (`output_config.effort`), with the object if nothing else is in that. */
function remove(body: Fields, path: string): void {
  const [name, inner] = path.split('.', 2) as [string, string?]
  if (inner === undefined) delete body[name]
  else if (isFields(body[name])) {
    const { [inner]: _removed, ...rest } = body[name]
    if (Object.keys(rest).length > 0) body[name] = rest
    else delete body[name]
  }
}

function formed(value: unknown, form: string, rule: string): unknown {
  const put = Object.hasOwn(FORMS, form) ? FORMS[form as Form] : undefined
  if (put) return put(value)
  throw new UpstreamError('rejected', `the catalogue renames to "${rule}": forms are ${Object.keys(FORMS).join(', ')}`)
}
