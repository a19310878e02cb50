/** The addresses of results, somewhere in what a model has put out. */
import { asFields } from '../../../shared/platform/fields.ts'

/** Nesting beyond which nothing is looked for. */
const MAX_DEPTH = 4

/**
 * The addresses in a model's output, in their order. The output's form is the model's own: an address, a list, or an
 * object that holds either under `url`, its modality, or a word that vendors use for it: the first that has any.
 */
export function addressesIn(output: unknown, modality: 'image' | 'video', depth = 0): string[] {
  if (typeof output === 'string') return /^(https?:|data:)/i.test(output) ? [output] : []
  if (depth >= MAX_DEPTH || typeof output !== 'object' || output === null) return []
  if (Array.isArray(output)) return output.flatMap((one) => addressesIn(one, modality, depth + 1))
  const fields = asFields(output)
  for (const name of ['url', modality, `${modality}s`, `${modality}_url`, 'output', 'uri', 'file']) {
    const addresses = addressesIn(fields[name], modality, depth + 1)
    if (addresses.length > 0) return addresses
  }
  return []
}
