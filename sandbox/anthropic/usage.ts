import { reportedTokens } from '../chat/answer.ts'
import type { Steering } from '../steering.ts'
import type { Fields } from '../wire.ts'
import type { CachedInput } from './cache.ts'

/** What one answer used. */
export interface Used {
  /** All input, with what a cache had a part in. */
  readonly input: number
  readonly cached: CachedInput
  readonly output: number
  /** Of the output. */
  readonly thinking: number
}

/** `usage` as it is reported; undefined, or other counts, if steered so. */
export function usageOf({ input, cached, output, thinking }: Used, steering: Steering): Fields | undefined {
  const reported = reportedTokens(steering, { input, output })
  if (!reported) return undefined
  const isOwn = reported.input === input
  const { read, written } = isOwn ? cached : { read: 0, written: 0 }
  return {
    input_tokens: reported.input - read - written,
    cache_creation_input_tokens: written,
    cache_read_input_tokens: read,
    cache_creation: { ephemeral_5m_input_tokens: written, ephemeral_1h_input_tokens: 0 },
    output_tokens: reported.output,
    output_tokens_details: { thinking_tokens: Math.max(0, Math.min(thinking, reported.output)) },
    service_tier: 'standard',
  }
}
