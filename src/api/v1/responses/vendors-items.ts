/**
 * Items of which only their vendor knows the form: what earlier turns searched for and ran, and changes of the
 * configuration. Whatever their form, nothing in them may run at the upstream, or be billed at a price of its own.
 */
import { DEARER_FIELDS, isHosted } from '../../../shared/chat/responses/fields.ts'
import type { Fields } from '../../../shared/platform/fields.ts'

/** What a change of the configuration may not say, at any depth: what is held for, and what is dearer. */
const HELD_FOR: ReadonlySet<string> = new Set([
  ...Object.keys(DEARER_FIELDS),
  'model',
  'mode',
  'max_output_tokens',
  'max_tokens',
  'n',
])

/** Finds what is wrong with a field of an object; null where nothing is. */
type Judge = (name: string, value: unknown, depth: number) => string | null

/** @param refusal makes the error. @throws it, with the path of the first field at fault */
export function requireVendorsItems(items: readonly Fields[], refusal: (path: string, fault: string) => Error): void {
  for (const [at, item] of items.entries()) {
    const judge = JUDGES[String(item.type)]
    const found = judge && faultIn(item, judge, `input.${at}`)
    if (found) throw refusal(found.path, found.fault)
  }
}

/** Tools deeper in an item are not left out of it, as those of its own are. */
const ofTools: Judge = (name, value, depth) =>
  depth > 0 && name === 'tools' && Array.isArray(value) && value.some((tool) => isHosted((tool ?? {}) as Fields))
    ? 'tools that run at the upstream are not available for this model.'
    : null

const ofConfiguration: Judge = (name, value, depth) =>
  HELD_FOR.has(name) && value !== null
    ? 'is not available in a change of the configuration.'
    : ofTools(name, value, depth)

const JUDGES: Readonly<Record<string, Judge>> = {
  tool_search_call: ofTools,
  tool_search_output: ofTools,
  configuration_update: ofConfiguration,
}

function faultIn(value: unknown, judge: Judge, path: string, depth = 0): { path: string; fault: string } | null {
  if (typeof value !== 'object' || value === null) return null
  for (const [name, one] of Object.entries(value)) {
    // The tools of an item have a schema of their own.
    if (depth === 0 && name === 'tools') continue
    const here = `${path}.${name}`
    const fault = judge(name, one, depth)
    const found = fault === null ? faultIn(one, judge, here, depth + 1) : { path: here, fault }
    if (found) return found
  }
  return null
}
