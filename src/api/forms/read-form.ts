/**
 * Reads a form: its texts become an object, as that of a JSON body, and its files temporary files, as they come. A
 * fault ends the reading at the first byte that shows it.
 */
import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ParameterizedContext } from 'koa'
import type { BusboyInstance } from '@fastify/busboy'
import { Busboy } from '@fastify/busboy'
import { ApiError } from '../../shared/platform/errors.ts'
import { fieldRefusal } from '../../shared/platform/field-errors.ts'
import { reportDefect } from '../../shared/platform/process/defects.ts'
import { LARGE_BYTES } from '../endpoint/large-body-queue.ts'
import type { JsonObject, LargeBody } from '../middleware/json-body.ts'
import { maxBytesOf, tooLarge } from '../middleware/json-body.ts'
import type { RequestState } from '../middleware/request-context.ts'
import type { Quota } from '../endpoint/quota.ts'
import type { BodyMemory } from '../server/body-memory.ts'
import type { DeclaredForm } from './declared-form.ts'
import { AROUND_FILES_BYTES } from './declared-form.ts'
import { FormFile, FormSpace } from './form-file.ts'

/** A form that was read. `release` frees its files; it can be repeated. */
export type SentForm = { fields: JsonObject; files: readonly FormFile[]; release: () => Promise<void> }

/** Parts of one form, and the bytes of a part's head. No form of ours needs more. */
const MAX = { parts: 128, headerPairs: 32, headerSize: 16_384 }

/** The turns of the event loop in which a parser takes what it is given. */
const TURNS = 10

/** How much of a part's name an error repeats, in characters: the client chose it. */
const MAX_PARAM = 200

type Request = ParameterizedContext<RequestState>

/**
 * Reads a form. Its bytes are counted for its sender until it is released. One whose length is not stated is admitted
 * as one of the longest.
 * @throws ApiError unsupported_media_type, payload_too_large, or invalid_request that names the part; rate_limited and
 * overloaded if too much comes at once or too slowly. Nothing is left of it then.
 */
export async function readForm(
  ctx: Request,
  { uploadSpace, openForms }: { uploadSpace: BodyMemory; openForms: Quota },
  declared: DeclaredForm,
  sender: string,
  { admit = async () => {} }: Pick<LargeBody, 'admit'> = {},
): Promise<SentForm> {
  const { req } = ctx
  requireForm(req)
  const maxBytes = maxBytesOf(ctx)
  const bytes = Number(req.headers['content-length'] ?? maxBytes)
  if (bytes > maxBytes) throw tooLarge(maxBytes)
  if (bytes > LARGE_BYTES) await admit(bytes)
  const gathering = new Gathering(declared, new FormSpace(openForms, sender))
  const stopCounting = { now: (): void => {} }
  let released: Promise<void> | null = null
  const release = (): Promise<void> => {
    stopCounting.now()
    return (released ??= gathering.close())
  }
  try {
    await gathering.readFrom(req, maxBytes, () => {
      stopCounting.now = uploadSpace.count(req, sender)
    })
  } catch (error) {
    await release()
    throw error
  }
  return { fields: gathering.fields, files: gathering.files, release }
}

/** Whether a request carries JSON, at an endpoint that takes both. */
export const isJson = ({ req }: Pick<Request, 'req'>): boolean =>
  /^application\/json\s*(;|$)/i.test(req.headers['content-type'] ?? '')

function requireForm({ headers }: IncomingMessage): void {
  const { 'content-type': type = '', 'content-encoding': encoding = 'identity' } = headers
  if (!/^multipart\/form-data\s*(;|$)/i.test(type) || encoding.trim().toLowerCase() !== 'identity')
    throw new ApiError('unsupported_media_type', {
      message: 'Send the body as multipart/form-data, without a Content-Encoding.',
    })
}

const malformed = (how: string): ApiError => new ApiError('invalid_request', { message: `The form ${how}.` })

const partFault = (name: string, fault: string): ApiError => fieldRefusal(name.slice(0, MAX_PARAM), fault)

/** What is read of one form. */
class Gathering {
  readonly fields: JsonObject = {}
  readonly files: FormFile[] = []
  private readonly declared: DeclaredForm
  private readonly space: FormSpace
  private readonly counts = new Map<string, number>()
  private readonly writing: Promise<void>[] = []
  private textBytes = 0
  private fileBytes = 0
  private current: Readable | null = null
  private fault: ApiError | null = null
  private isRead = false
  private end: () => void = () => {}

  constructor(declared: DeclaredForm, space: FormSpace) {
    this.declared = declared
    this.space = space
  }

  /**
   * Reads all of a form. Nothing is written any more once it has returned or thrown.
   * @param begun is called once somebody reads: a listener before would let the first bytes pass
   */
  async readFrom(req: IncomingMessage, maxBytes: number, begun: () => void): Promise<void> {
    const parser = parserOf(req)
    this.listenTo(parser)
    const read = new Promise<void>((resolve) => {
      this.end = resolve
    })
    let bytes = 0
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length
      if (bytes > maxBytes) return this.fail(tooLarge(maxBytes))
      req.pause()
      this.feed(parser, chunk)
        .then(() => req.resume())
        .catch(reportDefect)
    }
    const onEnd = (): void => {
      this.feed(parser, null).catch(reportDefect)
    }
    const onClose = (): void => {
      if (!req.complete) this.fail(endedEarly())
    }
    req.on('error', (error: unknown) => this.fail(error instanceof ApiError ? error : endedEarly()))
    if (req.destroyed) this.fail(endedEarly())
    else {
      req.on('close', onClose).on('end', onEnd).on('data', onData)
      begun()
    }
    await read
    req.off('data', onData).off('end', onEnd).off('close', onClose)
    // Nobody reads the rest: an answer to what is too long ends its connection.
    req.resume()
    await Promise.all(this.writing)
    if (this.fault) throw this.fault
  }

  /**
   * Gives the parser the next piece, or the end (null). What it has not taken once no file is being written it never
   * takes: it waits for the rest of a head that has none, without an error.
   */
  private async feed(parser: BusboyInstance, chunk: Buffer | null): Promise<void> {
    let isTaken = false
    const taken = new Promise<void>((resolve) => {
      const done = (): void => {
        isTaken = true
        resolve()
      }
      if (chunk) parser.write(chunk, done)
      else parser.end().once('finish', done)
    })
    await Promise.race([taken, this.idle()])
    if (!isTaken && !this.isRead) this.fail(malformed('is malformed, or ended before it was complete'))
  }

  /** Resolves when no file is being written, after some turns of the parser. */
  private async idle(): Promise<void> {
    for (let known = -1; known < this.writing.length;) {
      known = this.writing.length
      await Promise.all(this.writing)
      for (let turn = 0; turn < TURNS; turn++) await nextTurn()
    }
  }

  /** Frees the files. */
  close(): Promise<void> {
    return this.space.close()
  }

  private listenTo(parser: BusboyInstance): void {
    parser.on('file', (name, stream, fileName, _encoding, type) => {
      // A part that was refused, or is cut off, has an error of its own.
      stream.on('error', () => {})
      if (this.fault) stream.resume()
      else this.writing.push(this.takeFile(name, stream, { name: fileName ?? '', type }))
    })
    parser.on('field', (name, text, _nameTruncated, truncated) => {
      if (!this.fault) this.takeText(name, text, truncated)
    })
    parser.on('partsLimit', () => this.fail(malformed(`has more than ${MAX.parts} parts`)))
    parser.on('error', () => this.fail(malformed('is malformed, or ended before it was complete')))
    parser.on('finish', () => {
      this.isRead = true
      this.end()
    })
  }

  /** Remembers what is wrong, the first time, and ends the reading. */
  private fail(fault: ApiError): void {
    this.fault ??= fault
    this.current?.destroy(this.fault)
    this.end()
  }

  private takeText(name: string | undefined, text: string, truncated: boolean): void {
    if (!name) return this.fail(malformed('has a part without a name'))
    this.textBytes += name.length + text.length
    if (truncated || this.textBytes > AROUND_FILES_BYTES)
      return this.fail(tooLong('The texts of the form', AROUND_FILES_BYTES))
    const { files, lists = [] } = this.declared
    const base = baseOf(name)
    if (Object.hasOwn(files, base)) return this.fail(partFault(base, 'must be a file: its part needs a filename'))
    if (lists.includes(base)) return this.put(base, [...((this.fields[base] as string[] | undefined) ?? []), text])
    if (Object.hasOwn(this.fields, name)) return this.fail(partFault(name, 'is there more than once'))
    this.put(name, text)
  }

  /** Writes a file as it comes. Never fails: what is wrong is the fault of the form. */
  private async takeFile(
    name: string | undefined,
    stream: Readable,
    about: { name: string; type: string },
  ): Promise<void> {
    this.current = stream
    try {
      const file = this.admit(name, about)
      const { maxBytes } = this.declared.files[baseOf(name!)]!
      for await (const chunk of stream as AsyncIterable<Buffer>) {
        this.fileBytes += chunk.length
        if (file.bytes + chunk.length > maxBytes) throw tooLong(`The file ${baseOf(name!)}`, maxBytes)
        if (this.fileBytes > this.declared.maxFileBytes)
          throw tooLong('The files of the form together', this.declared.maxFileBytes)
        await file.add(chunk)
        if (this.fault) return
      }
    } catch (error) {
      this.fail(error instanceof ApiError ? error : toFault(error))
    }
  }

  /** A file for a part. @throws ApiError invalid_request for one that the form does not have */
  private admit(name: string | undefined, about: { name: string; type: string }): FormFile {
    if (!name) throw malformed('has a part without a name')
    const base = baseOf(name)
    const { files } = this.declared
    if (!Object.hasOwn(files, base)) throw partFault(name, 'is no file of this endpoint')
    const { most } = files[base]!
    const count = (this.counts.get(base) ?? 0) + 1
    if (count > most) throw partFault(base, most === 1 ? 'is there more than once' : `must be at most ${most} files`)
    this.counts.set(base, count)
    const file = new FormFile(this.space, this.files.length, about)
    this.files.push(file)
    this.put(base, most === 1 ? file : [...((this.fields[base] as FormFile[] | undefined) ?? []), file])
    return file
  }

  /** Sets a field; `__proto__` is an ordinary one. */
  private put(name: string, value: unknown): void {
    Object.defineProperty(this.fields, name, { value, writable: true, enumerable: true, configurable: true })
  }
}

const endedEarly = (): ApiError => malformed('ended before it was complete')

const tooLong = (what: string, bytes: number): ApiError =>
  new ApiError('payload_too_large', { message: `${what} must be at most ${bytes.toLocaleString('en-US')} bytes.` })

/** The name of a list's part: SDKs write `image[]` for each of its elements. */
const baseOf = (name: string): string => (name.endsWith('[]') ? name.slice(0, -2) : name)

/** A part that is cut off fails itself; anything else is the disk's. */
const toFault = (error: unknown): ApiError =>
  /unexpected end of multipart data/i.test((error as Error).message)
    ? endedEarly()
    : new ApiError('overloaded', { message: 'The file could not be taken. Nothing was charged.', cause: error })

/** @throws ApiError invalid_request if the parts have no boundary */
function parserOf({ headers }: IncomingMessage): BusboyInstance {
  try {
    return new Busboy({
      headers: { ...headers, 'content-type': headers['content-type']! },
      limits: { ...MAX, fieldSize: AROUND_FILES_BYTES },
    })
  } catch {
    throw malformed('has no boundary in its Content-Type')
  }
}
