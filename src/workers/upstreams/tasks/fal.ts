/**
 * fal's queue. Its models have schemas of their own, so a request's fields go out by our names and a route's `rename`
 * gives them the model's. The addresses of a task are fal's to name: they leave out the model's sub-path.
 */
import { applyRules } from '../body-rules.ts'
import type { UpstreamError } from '../adapter.ts'
import { isText } from '../../../shared/platform/fields.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import { inputOf } from '../picture-fields.ts'
import { addressesIn } from './media-address.ts'
import { taskFailure } from '../failures.ts'
import type { TaskPreset, TaskRef, TaskReport } from './engine.ts'
import { standing, wordOf } from './states.ts'

/** The preset of fal for one modality. */
export function falTasks(modality: 'image' | 'video'): TaskPreset {
  return {
    submission: (request, { route }) => ({
      method: 'POST',
      path: `/${route.model}`,
      // Most models there call them so.
      body: {
        json: applyRules(inputOf(request), {
          ...route,
          rename: { n: 'num_images', size: 'image_size', ...route.rename },
        }),
      },
    }),
    accepted: ({ request_id: id, status_url: status, response_url: response, cancel_url: cancel }) => ({
      id,
      urls: { status, response, ...(isText(cancel) && { cancel }) },
    }),
    status: ({ urls }) => ({ method: 'GET', url: urls.status ?? '' }),
    report: (answer, task) => reportOf(answer, task),
    result: (answer) => ({ is: 'done', addresses: addressesIn(answer, modality) }),
    refusedResult,
    cancellation: ({ urls }) => (urls.cancel === undefined ? null : { method: 'PUT', url: urls.cancel }),
    pace: 0.5,
  }
}

/** A failed run is COMPLETED too; its error is here, or only in the answer to the result's address. */
function reportOf(answer: Fields, { urls }: TaskRef): TaskReport {
  const { error, error_type: type } = answer
  const state = standing(answer)
  if (state === 'running') return { is: 'running' }
  return state === 'failed' || error || type
    ? { is: 'failed', error: taskFailure(wordOf(answer), error, type) }
    : { is: 'fetch', request: { method: 'GET', url: urls.response ?? '' } }
}

/** Refusals of a result that are about the reading of it. */
const NOT_THE_RUN = new Set([401, 403, 429])

/** A refused result is the failure of the run, except where the queue itself is in trouble (5xx without a type). */
function refusedResult(error: UpstreamError): TaskReport | undefined {
  const { status, code, said } = error
  if (/still in progress/i.test(said ?? '')) return { is: 'running' }
  if (status === null || NOT_THE_RUN.has(status)) return undefined
  return status < 500 || code !== null ? { is: 'failed', error } : undefined
}
