/** Small real files, made by real encoders (FFmpeg, libwebp, ImageMagick), and ways to read them as a stream. */
import { readFileSync } from 'node:fs'

/** The bytes of one of the files in `fixtures`. */
export const fixture = (name: string): Buffer => readFileSync(new URL(`fixtures/${name}`, import.meta.url))

/** Bytes as a stream in chunks of a size. */
export async function* inChunks(bytes: Uint8Array, size = 65_536): AsyncGenerator<Uint8Array> {
  for (let offset = 0; offset < bytes.length; offset += size) yield bytes.subarray(offset, offset + size)
}

/** All bytes of a stream. */
export async function bytesOf(source: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of source) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** The error that a promise rejects with. Throws if it does not reject. */
export async function failureOf(work: Promise<unknown>): Promise<Error> {
  try {
    await work
  } catch (error) {
    return error as Error
  }
  throw new Error('did not fail')
}
