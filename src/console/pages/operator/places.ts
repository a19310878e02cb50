/**
 * Places in a catalogue in words: `models[1].upstreams[0].cost.output` is "Model fast, upstream openai: cost.output".
 */
import { t } from '../../language/language.ts'
import { asList, isFields } from '../../../shared/platform/fields.ts'

const words = t.catalogue

/** A place: whose it is, in words, and the field of that. */
export type Place = { of: string; field: string }

/** What a path leads to in a catalogue as it is written; the whole path is the field where that is nothing known. */
export function placeOf(path: string, catalogue: unknown): Place {
  const [, nth, rest = ''] = /^models\[(\d+)\]\.?(.*)$/.exec(path) ?? []
  const model = isFields(catalogue) && nth !== undefined ? asList(catalogue.models)[Number(nth)] : undefined
  if (!isFields(model) || typeof model.id !== 'string') {
    const [, kind, name, field] = /^(upstreams|groups)\.([^.]+)\.?(.*)$/.exec(path) ?? []
    if (kind === undefined) return { of: '', field: path }
    return { of: (kind === 'groups' ? words.groupOf : words.upstreamOf)(name!), field: field ?? '' }
  }
  const [, at, last = ''] = /^upstreams\[(\d+)\]\.?(.*)$/.exec(rest) ?? []
  const entry = at === undefined ? undefined : asList(model.upstreams)[Number(at)]
  if (!isFields(entry)) return { of: words.modelOf(model.id), field: rest }
  return { of: words.entryOf(model.id, String(entry.upstream)), field: last }
}

/** A message about a field without the path that it begins with: the place is shown before it. */
export const withoutPath = (message: string, path: string): string =>
  message.startsWith(`${path} `) ? message.slice(path.length + 1) : message
