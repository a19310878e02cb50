/**
 * The address of a result, somewhere in what a model has put out.
 */
import { asFields } from '../../../shared/platform/fields.ts'

/** Nesting beyond which nothing is looked for. */
const MAX_DEPTH = 4

/**
 * The first address in a model's output; null where there is none. The output's form is the model's own: an address,
 * a list, or an object that holds either under `url`, its modality, or a word that vendors use for it.
 */
export function addressIn(output: unknown, modality: 'image' | 'video', depth = 0): string | null {
  if (typeof output === 'string') return /^(https?:|data:)/i.test(output) ? output : null
  if (depth >= MAX_DEPTH || typeof output !== 'object' || output === null) return null
  const fields = asFields(output)
  const candidates: unknown[] = Array.isArray(output)
    ? output
    : ['url', modality, `${modality}s`, `${modality}_url`, 'output', 'uri', 'file'].map((name) => fields[name])
  for (const candidate of candidates) {
    const address = addressIn(candidate, modality, depth + 1)
    if (address !== null) return address
  }
  return null
}
