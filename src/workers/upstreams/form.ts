/**
 * Bodies as multipart forms.
 */
import { FormData } from 'undici'
import type { Fields } from '../../shared/platform/fields.ts'
import { fileOf } from './references.ts'
import type { Reference } from './adapter.ts'

/** A form of these fields and perhaps one file. A form knows only texts: everything else goes as its JSON. */
export function formOf(fields: Fields, file?: { field: string; reference: Reference }): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined) form.append(name, typeof value === 'string' ? value : JSON.stringify(value))
  }
  if (file) form.append(file.field, fileOf(file.reference))
  return form
}
