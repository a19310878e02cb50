/**
 * A form for an upstream (`multipart/form-data`, RFC 7578). Its files are read while it is sent, so that they need not
 * be in memory. Its length is computed before, because not every server takes a request without one.
 */
import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import type { Fields } from '../../shared/platform/fields.ts'

/** A file of the form that a call came as. `open` reads it from its beginning, as often as it is sent. */
export type UpstreamFile = { name: string; type: string; bytes: number; open: () => AsyncIterable<Uint8Array> }

/** A part of a form: a text, or a file. */
export type FormPart = { name: string } & ({ text: string } | { file: UpstreamFile })

/** A form that can be sent once. */
export type EncodedForm = { headers: { 'content-type': string; 'content-length': string }; body: Readable }

/** Fields as the parts of a form, which has only texts: everything else is sent as its JSON. */
export const textsOf = (fields: Fields): FormPart[] =>
  Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [{ name, text: typeof value === 'string' ? value : JSON.stringify(value) }],
  )

/** Writes a form. Line breaks stay as they are: a FormData would send each as CR LF. */
export function encodeForm(parts: readonly FormPart[]): EncodedForm {
  const boundary = `tollgate-${randomUUID()}`
  const written = parts.map((part) => ({ part, head: headOf(boundary, part) }))
  const end = `--${boundary}--\r\n`
  const length = written.reduce(
    (sum, { part, head }) => sum + Buffer.byteLength(head) + lengthOf(part) + '\r\n'.length,
    end.length,
  )
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for (const { part, head } of written) {
      yield Buffer.from(head)
      if ('text' in part) yield Buffer.from(part.text)
      else yield* part.file.open()
      yield Buffer.from('\r\n')
    }
    yield Buffer.from(end)
  }
  return {
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}`, 'content-length': String(length) },
    body: Readable.from(pieces(), { objectMode: false }),
  }
}

const lengthOf = (part: FormPart): number => ('text' in part ? Buffer.byteLength(part.text) : part.file.bytes)

function headOf(boundary: string, part: FormPart): string {
  const name = `--${boundary}\r\nContent-Disposition: form-data; name="${quoted(part.name)}"`
  if ('text' in part) return `${name}\r\n\r\n`
  const { name: fileName, type } = part.file
  return `${name}; filename="${quoted(fileName)}"\r\nContent-Type: ${MEDIA_TYPE.test(type) ? type : ANY_TYPE}\r\n\r\n`
}

/** As browsers write it (HTML, "multipart/form-data encoding algorithm"). */
const quoted = (text: string): string => text.replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('"', '%22')

const MEDIA_TYPE = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}$/

const ANY_TYPE = 'application/octet-stream'
