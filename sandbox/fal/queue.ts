import { originOf } from '../exchange.ts'
import type { Exchange, Route } from '../exchange.ts'
import { admit, answer } from '../http/answer.ts'
import { kindOf } from '../media/kinds.ts'
import { worded } from '../steering.ts'
import { hasEnded, phaseOf } from '../tasks/task.ts'
import type { Phase, Task } from '../tasks/task.ts'
import { cancelTask, polledTask, resultUrls, startTask, taskOf } from '../tasks/tasks.ts'
import { asText, Refusal } from '../wire.ts'
import type { Fields } from '../wire.ts'

const STATUS: Readonly<Record<Phase, string>> = {
  queued: 'IN_QUEUE',
  running: 'IN_PROGRESS',
  unknown: 'IN_LIMBO',
  succeeded: 'COMPLETED',
  failed: 'COMPLETED',
  aborted: 'COMPLETED',
  cancelled: 'COMPLETED',
}
const REQUEST = '/fal/:owner/:app/requests/:id'
const POLICY = 'The content was flagged by a content checker.'

/** The endpoints of the queue. A model's sub-path appears in the submission only, never in a request's addresses. */
export const queueRoutes: readonly Route[] = [
  { method: 'GET', path: `${REQUEST}/status`, handle: sendStatus },
  { method: 'GET', path: REQUEST, handle: sendResult },
  { method: 'PUT', path: `${REQUEST}/cancel`, handle: cancel },
  {
    method: 'POST',
    path: '/fal/:owner/:app/*',
    submission: ({ fields }, { owner, app, rest }) => ({
      model: [owner, app, rest].filter(Boolean).join('/'),
      prompt: asText(fields['prompt']),
    }),
    handle: submit,
  },
]

async function submit(exchange: Exchange): Promise<void> {
  const { owner, app } = exchange.params
  const { fields } = exchange.body
  await admit(exchange, 'task')
  const task = startTask(exchange, kindOf(exchange.model), fields, { path: `/fal/${owner}/${app}`, input: fields })
  await answer(exchange, { status: 'IN_QUEUE', ...addressesOf(exchange, task), queue_position: 0 })
}

function addressesOf(exchange: Exchange, task: Task): Fields {
  const request = `${originOf(exchange)}${asText(task.echo['path'])}/requests/${task.id}`
  return {
    request_id: task.id,
    response_url: request,
    status_url: `${request}/status`,
    cancel_url: `${request}/cancel`,
  }
}

/** Why a task ended without a result. */
function failureOf(task: Task): Refusal | undefined {
  const phase = phaseOf(task)
  if (phase === 'cancelled') {
    return new Refusal({ status: 400, message: 'Request was cancelled.', code: 'request_cancelled' })
  }
  if (phase === 'aborted') return new Refusal({ status: 504, message: 'Request timed out.', code: 'request_timeout' })
  if (phase === 'failed')
    return new Refusal({ status: 422, message: worded(task, POLICY), code: 'content_policy_violation' })
  // The queue accepts anything. Only the model finds that a field is missing.
  if (!task.prompt) return new Refusal({ status: 422, message: 'Field required', code: 'missing', param: 'prompt' })
  return undefined
}

function sendStatus(exchange: Exchange): Promise<void> {
  const task = polledTask(exchange)
  const phase = phaseOf(task)
  const ended = hasEnded(task)
  const failure = ended ? failureOf(task) : undefined
  const timestamp = new Date(task.createdAt).toISOString()
  const logs = [{ message: 'The sandbox is drawing.', level: 'INFO', timestamp }]
  return answer(
    exchange,
    {
      status: STATUS[phase],
      ...addressesOf(exchange, task),
      ...(phase === 'queued' && { queue_position: 0 }),
      ...(exchange.query.get('logs') === '1' && { logs: phase === 'queued' ? [] : logs }),
      ...(ended && { metrics: { inference_time: task.durationMs / 1000 } }),
      ...(failure && { error: failure.message, error_type: failure.fault.code }),
    },
    ended ? 200 : 202,
  )
}

function sendResult(exchange: Exchange): Promise<void> {
  const task = taskOf(exchange)
  if (!hasEnded(task)) throw new Refusal({ status: 400, message: 'Request is still in progress' })
  const failure = failureOf(task)
  if (failure) throw failure
  const files = resultUrls(exchange, task).map((url) => ({
    url,
    content_type: task.kind === 'image' ? 'image/png' : 'video/mp4',
    ...(task.kind === 'image' && task.size),
  }))
  if (task.steering.empty) return answer(exchange, {})
  // Image models answer with a list and video models with one file, unless steered otherwise.
  const form = task.steering.output ?? (task.kind === 'image' ? 'array' : 'object')
  const result = form === 'array' ? { [`${task.kind}s`]: files } : { [task.kind]: files[0] }
  return answer(exchange, { ...result, seed: 42, prompt: task.prompt, has_nsfw_concepts: [false] })
}

function cancel(exchange: Exchange): Promise<void> {
  const task = exchange.state.tasks.find(exchange.protocol.name, exchange.params['id']!)
  if (!task) return answer(exchange, { status: 'NOT_FOUND' }, 404)
  const cancelled = cancelTask(taskOf(exchange))
  return cancelled
    ? answer(exchange, { status: 'CANCELLATION_REQUESTED' }, 202)
    : answer(exchange, { status: 'ALREADY_COMPLETED' }, 400)
}
