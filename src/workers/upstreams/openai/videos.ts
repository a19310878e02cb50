/**
 * Videos of OpenAI's kind, as tasks. OpenAI's own are gone; compatible servers speak the dialect on. A lost submission
 * cannot be found again: nothing in the list distinguishes two calls with the same prompt.
 */
import type { MediaRequest } from '../../../shared/requests/requests.ts'
import type { UpstreamContext } from '../adapter.ts'
import { applyRules } from '../body-rules.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import { textsOf } from '../multipart.ts'
import type { FormPart } from '../multipart.ts'
import { sizeOf } from '../../../shared/requests/sizes.ts'
import { taskFailure } from '../failures.ts'
import { partOf } from '../references.ts'
import type { TaskPreset, TaskReport } from '../tasks/engine.ts'
import { standing, wordOf } from '../tasks/states.ts'

const pathOf = ({ id }: { id: string }): string => `/videos/${encodeURIComponent(id)}`

/** The preset of every server with OpenAI's `/videos`. */
export const openaiVideos: TaskPreset = {
  uploads: true,
  submission: (request, context) => ({ method: 'POST', path: '/videos', body: { parts: partsFor(request, context) } }),
  accepted: ({ id }) => ({ id }),
  status: (task) => ({ method: 'GET', path: pathOf(task) }),
  report: (answer, task, { route }) => reportOf(answer, `${route.upstream.baseUrl}${pathOf(task)}/content`),
  cancellation: (task) => ({ method: 'DELETE', path: pathOf(task) }),
  pace: 0.5,
}

/** Always a form, which every such server takes: OpenAI's own clients send nothing else. `seconds` is a text there. */
function partsFor(
  { prompt, image_url: imageUrl, duration, resolution }: MediaRequest,
  { route, upload }: UpstreamContext,
): FormPart[] {
  const size = sizeOf('video', resolution)
  const fields: Fields = {
    model: route.model,
    prompt,
    ...(duration !== undefined && { seconds: String(duration) }),
    ...(size && { size }),
  }
  if (!upload) return textsOf(applyRules({ ...fields, image_url: imageUrl }, route))
  return [...textsOf(applyRules(fields, route)), partOf('input_reference', upload)]
}

function reportOf(answer: Fields, content: string): TaskReport {
  const { progress, error } = answer
  switch (standing(answer)) {
    case 'done':
      return { is: 'done', addresses: [content], needsKey: true }
    case 'failed':
      return { is: 'failed', error: taskFailure(wordOf(answer), error) }
    case 'running':
      return { is: 'running', progress: Number.isFinite(progress) ? clamped(progress as number) : null }
  }
}

const clamped = (percent: number): number => Math.min(Math.max(percent, 0), 100)
