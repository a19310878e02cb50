/**
 * Reads the bytes of a request body, as they came. A body that is here already, as most are once a key has been looked
 * up, is taken as it is; koa-body reads the others.
 */
import type { Context } from 'koa'
import { HttpMethodEnum, koaBody } from 'koa-body'
import { ApiError } from '../../shared/platform/errors.ts'
import type { BodyMemory } from '../server/body-memory.ts'
import type { RequestState } from './request-context.ts'

/**
 * The longest body in bytes (docs/api/README.md#request-bodies), regardless of Content-Length: of authenticated
 * clients, and of all others. For calls, the setting MAX_BODY_BYTES applies instead.
 */
export const MAX_BODY_BYTES = { known: 1_048_576, anybody: 16_384 }

/** The longest body of a request: its endpoint's limit, or that of unauthenticated clients if no endpoint serves it. */
export const maxBytesOf = ({ state }: { state: Partial<RequestState> }): number =>
  state.endpoint?.maxBodyBytes ?? MAX_BODY_BYTES.anybody

/** The error for a body that is longer than `maxBytes`. */
export const tooLarge = (maxBytes: number): ApiError =>
  new ApiError('payload_too_large', {
    message: `The request body must be at most ${maxBytes.toLocaleString('en-US')} bytes.`,
  })

// latin1 maps each byte to one character, so that the bytes come through unchanged, in any declared charset.
const gatherer = (textLimit: number) =>
  koaBody({
    json: false,
    urlencoded: false,
    multipart: false,
    text: true,
    textTypes: ['*/*'],
    encoding: 'latin1',
    textLimit,
    parsedMethods: Object.values(HttpMethodEnum),
    onError: (error) => {
      throw error
    },
  })

/**
 * Reads a body. What has come of it is counted for its sender while the rest is on its way.
 * @returns its bytes; null for one that ended before it was complete
 * @throws ApiError payload_too_large; rate_limited and overloaded if too much comes too slowly.
 */
export async function readBytes(ctx: Context, bodyMemory: BodyMemory, sender: string): Promise<Buffer | null> {
  const { req } = ctx
  const maxBytes = maxBytesOf(ctx)
  if (req.destroyed) return null
  if (req.complete) {
    const whole = (req.read() as Buffer | null) ?? Buffer.alloc(0)
    if (whole.length > maxBytes) throw tooLarge(maxBytes)
    return whole
  }
  const gathering = gatherer(maxBytes)(ctx, async () => {})
  // Only now does somebody read: a listener before would have let the first bytes pass.
  const stopCounting = bodyMemory.count(req, sender)
  try {
    await gathering
  } catch (error) {
    if (error instanceof ApiError) throw error
    if ((error as { type?: string }).type === 'entity.too.large') throw tooLarge(maxBytes)
    return null
  } finally {
    stopCounting()
  }
  const { body } = ctx.request as unknown as { body?: unknown }
  return Buffer.from(typeof body === 'string' ? body : '', 'latin1')
}
