/**
 * The files of a form while its request is checked. All of them are in one temporary file that has no name any more:
 * the system always frees them with its only descriptor, after a crash, too.
 */
import { createHash, randomUUID } from 'node:crypto'
import { close, openSync, read, unlinkSync, write } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { UploadedFile } from '../../shared/requests/uploads.ts'
import { CHUNK_BYTES } from '../../shared/requests/uploads.ts'
import { ApiError } from '../../shared/platform/errors.ts'
import type { Bounds, Quota } from '../endpoint/quota.ts'

const closeFile = promisify(close)
const readFile = promisify(read)
const writeFile = promisify(write)

/** The most characters of a file's name that are used. */
const MAX_NAME = 255

/**
 * How many forms may have a temporary file at once, each of which takes a descriptor: far fewer than the 1,024 that a
 * process has at least.
 */
export const MOST_FORMS: Bounds = { perAccount: 64, perProcess: 256 }

/** When a form that finds no room may be sent again, in seconds. */
const RETRY_SECONDS = 5

/** The temporary file of one form. It takes a descriptor from its first byte on. */
export class FormSpace {
  private readonly forms: Quota
  private readonly sender: string
  private opened: number | null = null
  private end = 0

  /** @param forms counts the forms of the process that have a temporary file, by sender */
  constructor(forms: Quota, sender: string) {
    this.forms = forms
    this.sender = sender
  }

  /**
   * Adds bytes at the end. @returns where they begin
   * @throws ApiError rate_limited, overloaded for too many forms at once; what the disk fails with
   */
  async append(chunk: Uint8Array): Promise<number> {
    const { descriptor } = this
    const from = this.end
    this.end += chunk.length
    let done = 0
    while (done < chunk.length) {
      const { bytesWritten } = await writeFile(descriptor, chunk, done, chunk.length - done, from + done)
      done += bytesWritten
    }
    return from
  }

  /** Of its temporary file, which is opened now if it was not. @throws as `append` */
  get descriptor(): number {
    return (this.opened ??= this.open())
  }

  /** Fills a buffer with what begins at a place. */
  async readInto(buffer: Uint8Array, from: number): Promise<void> {
    let done = 0
    while (done < buffer.length) {
      const { bytesRead } = await readFile(this.descriptor, buffer, done, buffer.length - done, from + done)
      if (bytesRead === 0) throw new Error('a temporary file is shorter than what was written to it')
      done += bytesRead
    }
  }

  /** Frees its bytes. To be called once, when nobody reads or writes it any more. */
  async close(): Promise<void> {
    if (this.opened === null) return
    this.forms.give(this.sender, 1)
    await closeFile(this.opened)
  }

  private open(): number {
    if (!this.forms.take(this.sender, 1)) {
      const isOwn = this.forms.of(this.sender) > 0
      const message = 'Too many forms with files are being sent at once. Nothing was charged.'
      throw new ApiError(isOwn ? 'rate_limited' : 'overloaded', { message, retryAfterSeconds: RETRY_SECONDS })
    }
    try {
      const path = join(tmpdir(), `tollgate-upload-${randomUUID()}`)
      const descriptor = openSync(path, 'wx+', 0o600)
      unlinkSync(path)
      return descriptor
    } catch (error) {
      this.forms.give(this.sender, 1)
      throw error
    }
  }
}

/** Bytes of a file that are next to each other in its form's space: from a place of the file, at one of the space. */
type Run = { from: number; at: number; length: number }

/** A file of a form, which can be read until its space is closed. */
export class FormFile {
  /** Which of the files of its form it is, from 0. */
  readonly place: number
  /** As its client calls it; empty if it has no name. */
  readonly name: string
  /** The type that its client states. */
  readonly type: string
  private readonly space: FormSpace
  /** One, unless the file before it was still being written when this one began. */
  private readonly runs: Run[] = []
  private readonly hash = createHash('sha256')
  private sha256: string | null = null
  private length = 0
  private begin = 0

  constructor(space: FormSpace, place: number, { name, type }: { name: string; type: string }) {
    this.space = space
    this.place = place
    this.name = name.slice(0, MAX_NAME)
    this.type = type
  }

  /** Its length in bytes. */
  get bytes(): number {
    return this.length - this.begin
  }

  /** Skips its first bytes from now on: they are neither read nor sent on. */
  skip(bytes: number): void {
    this.begin += bytes
  }

  /** Adds bytes at its end, one call after the other. @throws as `FormSpace.append` */
  async add(chunk: Uint8Array): Promise<void> {
    const at = await this.space.append(chunk)
    const last = this.runs.at(-1)
    if (last && last.at + last.length === at) last.length += chunk.length
    else this.runs.push({ from: this.length, at, length: chunk.length })
    this.hash.update(chunk)
    this.length += chunk.length
  }

  /** The bytes from a place on: `length`, or as many as there are. */
  async read(from: number, length: number): Promise<Buffer> {
    const buffer = Buffer.allocUnsafe(Math.max(0, Math.min(length, this.bytes - from)))
    const first = this.begin + from
    for (const run of this.runs) {
      const [begin, end] = [Math.max(run.from, first), Math.min(run.from + run.length, first + buffer.length)]
      if (begin < end) await this.space.readInto(buffer.subarray(begin - first, end - first), run.at + begin - run.from)
    }
    return buffer
  }

  /**
   * Where its bytes are, for another thread, which may read them until the space is closed.
   * @throws Error unless they are next to each other, as those of a form's only file are
   */
  opened(): { descriptor: number; at: number; bytes: number } {
    const [run, ...more] = this.runs
    if (more.length > 0) throw new Error('the bytes of a file are not next to each other')
    return { descriptor: this.space.descriptor, at: (run?.at ?? 0) + this.begin, bytes: this.bytes }
  }

  /** All of it, in chunks. */
  async *chunks(): AsyncGenerator<Buffer> {
    for (let from = 0; from < this.bytes; from += CHUNK_BYTES) yield await this.read(from, CHUNK_BYTES)
  }

  /** As a job carries it. */
  reference(): UploadedFile {
    return { place: this.place, name: this.name, type: this.type, bytes: this.bytes }
  }

  /** What makes it the same file in a retry. */
  toJSON(): Record<string, unknown> {
    this.sha256 ??= this.hash.digest('hex')
    return { name: this.name, type: this.type, sha256: this.sha256 }
  }
}
