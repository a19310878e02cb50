import type { IncomingMessage } from 'node:http'
import { Refusal } from '../wire.ts'
import type { Fields } from '../wire.ts'
import { nestedFields } from './nested-form.ts'

/** A file of a multipart form. */
interface UploadedFile {
  readonly field: string
  readonly name: string
  readonly type: string
  readonly bytes: Buffer
}

/** The body of a request: JSON fields, those of a form with nested names, or those of a multipart form with files. */
export interface Body {
  readonly fields: Fields
  readonly files: readonly UploadedFile[]
  readonly form: boolean
  /** Length as received, in bytes. */
  readonly size: number
}

/** The body of a request without one. */
export const NO_BODY: Body = { fields: {}, files: [], form: false, size: 0 }

const MAX_BYTES = 128 * 1024 * 1024

/**
 * Reads and parses the body of a request.
 * @throws {Refusal} 400 for what is neither a JSON object nor a form, 413 beyond 128 MB.
 */
export async function readBody(req: IncomingMessage): Promise<Body> {
  const bytes = await readBytes(req)
  const type = req.headers['content-type'] ?? ''
  if (type.startsWith('multipart/form-data')) return readForm(bytes, type)
  if (type.startsWith('application/x-www-form-urlencoded')) {
    const fields = nestedFields(new URLSearchParams(bytes.toString('utf8')))
    return { fields, files: [], form: false, size: bytes.length }
  }
  return { fields: readJson(bytes), files: [], form: false, size: bytes.length }
}

function readBytes(req: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    req.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= MAX_BYTES) chunks.push(chunk)
    })
    req.on('end', () => {
      if (size > MAX_BYTES) reject(new Refusal({ status: 413, message: 'The body is too large.' }))
      else resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks))
    })
    req.on('error', reject)
    // A client that disconnects within its body causes neither event above.
    req.on('close', () => reject(new Error('the client left')))
  })
}

function readJson(bytes: Buffer): Fields {
  if (bytes.length === 0) return {}
  let parsed: unknown
  try {
    parsed = JSON.parse(bytes.toString('utf8'))
  } catch {
    throw new Refusal({ status: 400, message: 'The body could not be read as JSON.', code: 'invalid_json' })
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw new Refusal({ status: 400, message: 'The body must be a JSON object.', code: 'invalid_json' })
  }
  return parsed as Fields
}

async function readForm(bytes: Buffer, type: string): Promise<Body> {
  const fields: Fields = {}
  const files: UploadedFile[] = []
  try {
    const form = await new Response(new Uint8Array(bytes), { headers: { 'content-type': type } }).formData()
    for (const [field, value] of form.entries()) {
      if (typeof value === 'string') fields[field] = field.endsWith('[]') ? [fields[field] ?? [], value].flat() : value
      else files.push({ field, name: value.name, type: value.type, bytes: Buffer.from(await value.arrayBuffer()) })
    }
  } catch {
    throw new Refusal({ status: 400, message: 'The body could not be read as multipart/form-data.' })
  }
  return { fields, files, form: true, size: bytes.length }
}
