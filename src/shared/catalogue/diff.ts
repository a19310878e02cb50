/**
 * What differs between two versions of the catalogue, model by model. Works on contents as they were given: an older
 * version need not be what this release takes. Changes are shown to operators: of headers they state only that they
 * differ.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Fields } from '../platform/fields.ts'
import { asFields, asList, isFields } from '../platform/fields.ts'
import { MASK, maskedHeaders, maskedUpstream, own } from './header-masks.ts'

/** A field that differs, by its path within its part. Absent before or after: null. */
type FieldChange = { path: string; before: unknown; after: unknown }

/**
 * A part of the catalogue that differs: a model, an upstream or a group by its name, or a setting of the whole.
 * `fields` are those of a changed part; an added or removed one is one field with an empty path: the whole part.
 */
export type Change = {
  part: 'model' | 'upstream' | 'group' | 'setting'
  name: string
  change: 'added' | 'removed' | 'changed'
  fields: FieldChange[]
}

/**
 * The changes that lead from one content to the other, none if both have the same content. Undefined is an empty one.
 */
export function diffCatalogues(before: unknown, after: unknown): Change[] {
  const { models: oldModels, upstreams: oldUpstreams, groups: oldGroups, ...oldSettings } = asFields(before)
  const { models: newModels, upstreams: newUpstreams, groups: newGroups, ...newSettings } = asFields(after)
  return [
    ...diffParts('model', byId(oldModels), byId(newModels)),
    ...diffOrder(byId(oldModels), byId(newModels)),
    ...diffParts('upstream', asFields(oldUpstreams), asFields(newUpstreams)).map(withoutSecrets),
    ...diffParts('group', asFields(oldGroups), asFields(newGroups)),
    ...diffParts('setting', oldSettings, newSettings),
  ]
}

/**
 * Whether changes send an upstream's key, headers or prompts anywhere else than before: one that is only removed sends
 * nothing.
 */
export const changesUpstreams = (changes: readonly Change[]): boolean =>
  changes.some(({ part, change }) => part === 'upstream' && change !== 'removed')

/** A change of an upstream, with its headers masked. */
const withoutSecrets = (change: Change): Change => ({
  ...change,
  fields: change.fields.map(({ path, before, after }) => ({
    path,
    before: withoutSecret(path, before),
    after: withoutSecret(path, after),
  })),
})

function withoutSecret(path: string, value: unknown): unknown {
  if (path === '') return maskedUpstream(value)
  if (path === 'headers') return maskedHeaders(value)
  return path.startsWith('headers.') && value !== null ? MASK : value
}

/** Models by their ids. */
const byId = (models: unknown): Fields =>
  Object.fromEntries(asList(models).map((model): [string, unknown] => [String(asFields(model).id), model]))

function diffParts(part: Change['part'], before: Fields, after: Fields): Change[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  return names.flatMap((name): Change[] => {
    const [old, now] = [own(before, name), own(after, name)]
    if (isDeepStrictEqual(old, now)) return []
    const change = old === undefined ? 'added' : now === undefined ? 'removed' : 'changed'
    const fields = change === 'changed' ? diffFields('', old, now) : [changeOf('', old, now)]
    return [{ part, name, change, fields }]
  })
}

const changeOf = (path: string, before: unknown, after: unknown): FieldChange => ({
  path,
  before: before ?? null,
  after: after ?? null,
})

/** Models are listed in their order. */
function diffOrder(before: Fields, after: Fields): Change[] {
  const old = Object.keys(before).filter((id) => Object.hasOwn(after, id))
  const now = Object.keys(after).filter((id) => Object.hasOwn(before, id))
  if (isDeepStrictEqual(old, now)) return []
  return [{ part: 'setting', name: 'order of models', change: 'changed', fields: [changeOf('', old, now)] }]
}

/** The fields that differ, as deep as both sides are objects or lists of one length. */
function diffFields(path: string, before: unknown, after: unknown): FieldChange[] {
  if (isDeepStrictEqual(before, after)) return []
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length) {
    return before.flatMap((one, index) => diffFields(`${path}[${index}]`, one, after[index]))
  }
  if (!isFields(before) || !isFields(after)) return [changeOf(path, before, after)]
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  return names.flatMap((name) =>
    diffFields(path === '' ? name : `${path}.${name}`, own(before, name), own(after, name)),
  )
}

/** The changes as text, a line each. */
export const diffText = (changes: readonly Change[]): string => changes.map(textOf).join('\n')

const MARKS = { added: '+', removed: '-', changed: '~' } as const

function textOf({ part, name, change, fields }: Change): string {
  const head = `${MARKS[change]} ${part === 'setting' ? name : `${part} ${name}`}`
  if (change === 'added') return `${head}: ${JSON.stringify(fields[0]?.after)}`
  if (change === 'removed') return `${head}: ${JSON.stringify(fields[0]?.before)}`
  return fields
    .map(({ path, before, after }) => {
      const field = path === '' ? head : `${head} ${path}`
      return `${field}: ${valueText(before)} → ${valueText(after)}`
    })
    .join('\n')
}

const valueText = (value: unknown): string => (value === null ? '(none)' : JSON.stringify(value))
