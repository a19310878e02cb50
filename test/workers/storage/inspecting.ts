/** The outcome of `inspect`: the file that it accepts, or its refusal. */
import { expect } from 'chai'
import type { MediaKind } from '../../../src/shared/media/media.ts'
import { inspect } from '../../../src/workers/storage/inspect.ts'
import { MediaRefused } from '../../../src/workers/storage/refused.ts'
import { bytesOf, failureOf, inChunks } from './media-files.ts'

/** The accepted file and its bytes. */
export async function read(bytes: Uint8Array, kind: MediaKind, chunk?: number, maxBytes = 1e6) {
  const { extension, body } = await inspect(inChunks(bytes, chunk), { kind, maxBytes })
  return { extension, bytes: await bytesOf(body) }
}

/** The refusal of bytes that must be refused. */
export async function refusal(bytes: Uint8Array, kind: MediaKind, chunk?: number): Promise<MediaRefused> {
  const error = await failureOf(read(bytes, kind, chunk))
  expect(error).to.be.instanceOf(MediaRefused)
  return error as MediaRefused
}

/** Whether bytes are refused; any other failure is thrown. */
export const refused = async (bytes: Uint8Array, kind: MediaKind): Promise<boolean> => {
  try {
    await read(bytes, kind)
    return false
  } catch (error) {
    if (error instanceof MediaRefused) return true
    throw error
  }
}
