/**
 * A file of a form while its request is checked. Its bytes lie in a temporary file that has no name any more: whatever
 * becomes of the request or of this process, the system frees them with the last descriptor.
 */
import { createHash, randomUUID } from 'node:crypto'
import { close, openSync, read, unlinkSync, write } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { UploadedFile } from '../../shared/requests/uploads.ts'
import { CHUNK_BYTES } from '../../shared/requests/uploads.ts'

const closeFile = promisify(close)
const readFile = promisify(read)
const writeFile = promisify(write)

/** The longest name of a file that is kept, in characters. */
const MAX_NAME = 255

/** A file of a form, which can be read until it is closed. */
export class FormFile {
  /** Which of the files of its form it is, from 0. */
  readonly place: number
  /** As its client calls it; empty where it has no name. */
  readonly name: string
  /** The type that its client states. */
  readonly type: string
  /** Of its temporary file: another thread may read it until it is closed. */
  readonly descriptor: number
  private readonly hash = createHash('sha256')
  private sha256: string | null = null
  private length = 0
  private begin = 0

  constructor(place: number, { name, type }: { name: string; type: string }) {
    this.place = place
    this.name = name.slice(0, MAX_NAME)
    this.type = type
    const path = join(tmpdir(), `tollgate-upload-${randomUUID()}`)
    this.descriptor = openSync(path, 'wx+', 0o600)
    unlinkSync(path)
  }

  /** Its length in bytes. */
  get bytes(): number {
    return this.length - this.begin
  }

  /** Leaves out its first bytes from now on: they are neither read nor sent on. */
  skip(bytes: number): void {
    this.begin += bytes
  }

  /** Adds bytes at its end. @throws where the disk takes no more */
  async add(chunk: Uint8Array): Promise<void> {
    let done = 0
    while (done < chunk.length) {
      const { bytesWritten } = await writeFile(this.descriptor, chunk, done, chunk.length - done, this.length + done)
      done += bytesWritten
    }
    this.hash.update(chunk)
    this.length += chunk.length
  }

  /** What stands from a place on: `length` bytes, or as many as there are. */
  async read(from: number, length: number): Promise<Buffer> {
    const buffer = Buffer.allocUnsafe(Math.max(0, Math.min(length, this.bytes - from)))
    let done = 0
    while (done < buffer.length) {
      const { bytesRead } = await readFile(
        this.descriptor,
        buffer,
        done,
        buffer.length - done,
        this.begin + from + done,
      )
      if (bytesRead === 0) throw new Error('a temporary file is shorter than what was written to it')
      done += bytesRead
    }
    return buffer
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

  /** Frees its bytes. To be called once, when nobody reads or writes it any more. */
  close(): Promise<void> {
    return closeFile(this.descriptor)
  }
}
