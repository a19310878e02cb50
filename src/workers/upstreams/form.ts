/** Bodies as multipart forms. */
import { FormData } from 'undici'
import type { Fields } from '../../shared/platform/fields.ts'
import { fileOf } from './references.ts'
import type { Reference } from './adapter.ts'

/** Fields as the parts of a form, which knows only texts: everything else goes as its JSON. */
export const textsOf = (fields: Fields): { name: string; text: string }[] =>
  Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [{ name, text: typeof value === 'string' ? value : JSON.stringify(value) }],
  )

/** A form of these fields and perhaps one file. */
export function formOf(fields: Fields, file?: { field: string; reference: Reference }): FormData {
  const form = new FormData()
  for (const { name, text } of textsOf(fields)) form.append(name, text)
  if (file) form.append(file.field, fileOf(file.reference))
  return form
}
