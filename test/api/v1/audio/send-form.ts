import type { Reply } from '../../../../scripts/harness/http.ts'
import { send } from '../../../../scripts/harness/http.ts'

/** A part of a form: a text, or the bytes of a file. */
export type Field = [name: string, value: string | Buffer, fileName?: string]

/** Sends a form and reads the whole answer. */
export function sendForm(
  url: string,
  key: string,
  fields: readonly Field[],
  headers: Record<string, string> = {},
): Promise<Reply> {
  const form = new FormData()
  for (const [name, value, fileName = 'speech'] of fields) {
    if (typeof value === 'string') form.append(name, value)
    else form.append(name, new Blob([new Uint8Array(value)]), fileName)
  }
  return send('POST', url, { key, body: form, headers })
}
