/**
 * Videos of OpenAI's kind, as tasks. OpenAI's own are gone; compatible servers speak the dialect on. A lost submission
 * cannot be found again: the list shows nothing that would tell two calls with one prompt apart.
 */
import type { MediaRequest } from '../../../shared/calls/requests.ts'
import type { UpstreamContext } from '../adapter.ts'
import { applyRules } from '../body-rules.ts'
import type { Fields } from '../fields.ts'
import { formOf } from '../form.ts'
import type { FetchReference } from '../references.ts'
import { sizeOf } from '../sizes.ts'
import { reasonOf } from '../tasks/engine.ts'
import type { TaskPreset, TaskReport } from '../tasks/engine.ts'

const pathOf = ({ id }: { id: string }): string => `/videos/${encodeURIComponent(id)}`

/** The preset of every server with OpenAI's `/videos`. */
export function openaiVideos(fetchReference: FetchReference): TaskPreset {
  return {
    submission: async (request, context) => ({
      method: 'POST',
      path: '/videos',
      body: { form: await formFor(request, context, fetchReference) },
    }),
    accepted: ({ id }) => ({ id }),
    status: (task) => ({ method: 'GET', path: pathOf(task) }),
    report: (answer, task, { route }) => reportOf(answer, `${route.upstream.baseUrl}${pathOf(task)}/content`),
    cancellation: (task) => ({ method: 'DELETE', path: pathOf(task) }),
    pace: 0.5,
  }
}

/**
 * Always a form, which every such server takes: OpenAI's own clients send nothing else. `seconds` is a text there. A
 * route that renames `image_url` says that its upstream takes the address, and under which name.
 */
async function formFor(request: MediaRequest, { route, signal }: UpstreamContext, fetchReference: FetchReference) {
  const { prompt, image_url: imageUrl, duration, resolution } = request
  const size = sizeOf('video', resolution)
  const fields: Fields = {
    model: route.model,
    prompt,
    ...(duration !== undefined && { seconds: String(duration) }),
    ...(size && { size }),
  }
  if (imageUrl === undefined || Object.hasOwn(route.rename, 'image_url') || route.drop.includes('image_url')) {
    return formOf(applyRules({ ...fields, image_url: imageUrl }, route))
  }
  const file = { field: 'input_reference', reference: await fetchReference(imageUrl, signal) }
  return formOf(applyRules(fields, route), file)
}

function reportOf({ status, progress, error }: Fields, content: string): TaskReport {
  switch (status) {
    case 'completed':
      return { is: 'done', address: content, needsKey: true }
    case 'failed':
    case 'cancelled':
    case 'expired':
      return { is: 'failed', message: reasonOf(error, String(status)) }
    default:
      return { is: 'running', progress: Number.isFinite(progress) ? clamped(progress as number) : null }
  }
}

const clamped = (percent: number): number => Math.min(Math.max(percent, 0), 100)
