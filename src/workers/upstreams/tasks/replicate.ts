/** Replicate's predictions. A model's inputs are its own, so a route's rules apply to `input`. */
import { applyRules } from '../body-rules.ts'
import type { MediaRequest } from '../../../shared/requests/requests.ts'
import type { UpstreamContext } from '../adapter.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import { inputOf } from '../picture-fields.ts'
import { addressesIn } from './media-address.ts'
import { taskFailure } from '../failures.ts'
import type { TaskPreset, TaskReport } from './engine.ts'
import { standing, wordOf } from './states.ts'

const pathOf = ({ id }: { id: string }): string => `/predictions/${encodeURIComponent(id)}`

/** The preset of Replicate for one modality. */
export function replicateTasks(modality: 'image' | 'video'): TaskPreset {
  return {
    submission,
    accepted: ({ id }) => ({ id }),
    status: (task) => ({ method: 'GET', path: pathOf(task) }),
    report: (answer) => reportOf(answer, modality),
    cancellation: (task) => ({ method: 'POST', path: `${pathOf(task)}/cancel` }),
    pace: 0.5,
  }
}

/** Official models have an address each; others are named by their version, `owner/name:version` or its bare hash. */
function submission(request: MediaRequest, { route }: UpstreamContext) {
  // No model there has our names; these are the most common.
  const rename = { image_url: 'image', n: 'num_outputs', ...route.rename }
  const input = applyRules(inputOf(request), { ...route, rename })
  const { model } = route
  return model.includes('/') && !model.includes(':')
    ? ({ method: 'POST', path: `/models/${model}/predictions`, body: { json: { input } } } as const)
    : ({ method: 'POST', path: '/predictions', body: { json: { version: model, input } } } as const)
}

function reportOf(answer: Fields, modality: 'image' | 'video'): TaskReport {
  switch (standing(answer)) {
    case 'done':
      return { is: 'done', addresses: addressesIn(answer.output, modality) }
    case 'failed':
      return { is: 'failed', error: taskFailure(wordOf(answer), answer.error) }
    case 'running':
      return { is: 'running' }
  }
}
