/** The lists of models and networks of a key: one that cannot be imported whole is never imported wider. */
import { parseRange } from '../../shared/platform/net/networks.ts'

/** The most models and networks that a key may have here (docs/api/limits.md). */
const MAX_MODELS = 100
const MAX_NETWORKS = 50

/** The longest id of a model. */
const MAX_MODEL_LENGTH = 200

/** What a key may be used for and from where; null: no such limit. An empty list allows nothing. */
export type KeyLists = { models: readonly string[] | null; networks: readonly string[] | null }

/**
 * The lists as they are imported. `isClosed`: one of them allows nothing that can be imported, so that the key must be
 * off.
 * @param list lists a reason
 */
export function importedLists(
  { models, networks }: KeyLists,
  list: (reason: string) => void,
): KeyLists & { isClosed: boolean } {
  const ids = models && [...new Set(models)].filter((id) => id.length <= MAX_MODEL_LENGTH)
  const ranges = networks && [...new Set(rangesOf(networks, list))]
  const faults = [
    ids && ids.length === 0 && 'it allows no model: it is imported turned off',
    ids && ids.length > MAX_MODELS && `it lists more than ${MAX_MODELS} models: it is imported turned off`,
    ranges && ranges.length === 0 && 'none of its networks can be read: it is imported turned off',
    ranges && ranges.length > MAX_NETWORKS && `it lists more than ${MAX_NETWORKS} networks: it is imported turned off`,
  ].filter((fault) => typeof fault === 'string')
  for (const fault of faults) list(fault)
  if (faults.length > 0) return { models: null, networks: null, isClosed: true }
  return { models: ids, networks: ranges, isClosed: false }
}

/** The networks that can be read; the others are listed. */
const rangesOf = (networks: readonly string[], list: (reason: string) => void): string[] =>
  networks.flatMap((network) => {
    const range = parseRange(network)
    if (range === null) list(`its network "${network.slice(0, 50)}" is not an address or a range: it is left out`)
    return range === null ? [] : [range]
  })
