/** What Gemini reports of its tokens. Pure. */
import type { UpstreamUsage } from '../adapter.ts'
import { asFields } from '../../../shared/platform/fields.ts'
import { openaiUsage } from '../usage.ts'

/**
 * The `usageMetadata` of an answer; null where it reports nothing. Thoughts are output, besides the candidates; what
 * the API's own tools read is input, besides the prompt. The total shows whether a server has added them already.
 */
export function geminiUsage(metadata: unknown): UpstreamUsage | null {
  const usage = openaiUsage(metadata)
  if (!usage) return null
  const { input, output, total = 0, reasoning = 0, ...rest } = usage
  const { toolUsePromptTokenCount: read } = asFields(metadata)
  const all = input + (Number.isSafeInteger(read) && Number(read) > 0 ? Number(read) : 0)
  const isAdded = total > 0 && total <= all + output
  return { ...rest, input: all, output: isAdded ? output : output + reasoning, reasoning }
}
