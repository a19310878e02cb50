/**
 * Reads a body as the bytes that came: a signature is over these, and over nothing that was parsed and written again.
 */
import type { Context } from 'koa'
import { ApiError } from '../../shared/errors.ts'
import type { Incoming } from '../incoming.ts'

/** As much as any other body may have. */
const MAX_BYTES = 1_048_576

/**
 * The bytes of a request's body, counted for its sender while they come.
 * @throws ApiError payload_too_large, or rate_limited and overloaded where too much comes too slowly.
 */
export async function readRawBody({ req }: Context, incoming: Incoming, sender: string): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  let release = (): void => {}
  try {
    return await new Promise<Buffer>((resolve, reject) => {
      req.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes > MAX_BYTES) reject(new ApiError('payload_too_large'))
        else chunks.push(chunk)
      })
      req.once('end', () => resolve(Buffer.concat(chunks)))
      req.once('error', reject)
      req.once('close', () => reject(new ApiError('invalid_signature')))
      release = incoming.count(req, sender)
    })
  } finally {
    release()
  }
}
