import { originOf } from '../exchange.ts'
import type { Exchange, Route } from '../exchange.ts'
import { admit, answer } from '../http/answer.ts'
import { sendMedium } from '../media/files.ts'
import { invalid } from '../openai/errors.ts'
import { worded } from '../steering.ts'
import { phaseOf } from '../tasks/task.ts'
import type { Phase, Task } from '../tasks/task.ts'
import { mediumOf, polledTask, startTask, taskOf } from '../tasks/tasks.ts'
import { asText, Refusal } from '../wire.ts'
import type { Fields } from '../wire.ts'
import { costOf } from './cost.ts'

const STATUS: Readonly<Record<Phase, string>> = {
  queued: 'pending',
  running: 'in_progress',
  unknown: 'brewing',
  succeeded: 'completed',
  failed: 'failed',
  aborted: 'expired',
  cancelled: 'cancelled',
}
const ROOT = '/openrouter/api/v1/videos'
const TOKENS_PER_VIDEO = 100_000

/** Videos of OpenRouter: submit, poll, and fetch the content with the key. */
export const videoRoutes: readonly Route[] = [
  {
    method: 'POST',
    path: ROOT,
    submission: ({ fields }) => ({ model: asText(fields['model']), prompt: asText(fields['prompt']) }),
    handle: create,
  },
  { method: 'GET', path: `${ROOT}/:id`, handle: sendVideoObject },
  { method: 'GET', path: `${ROOT}/:id/content`, handle: sendVideo },
]

async function create(exchange: Exchange): Promise<void> {
  const { model, prompt } = exchange
  const { fields } = exchange.body
  if (!model) throw invalid('model is required', 'model')
  if (!prompt) throw invalid('prompt is required', 'prompt')
  await admit(exchange, 'task')
  const task = startTask(exchange, 'video', fields, {})
  await answer(exchange, { id: task.id, polling_url: addressOf(exchange, task), status: 'pending' }, 202)
}

function sendVideoObject(exchange: Exchange): Promise<void> {
  return answer(exchange, videoOf(exchange, polledTask(exchange)))
}

function addressOf(exchange: Exchange, task: Task): string {
  return `${originOf(exchange)}${ROOT}/${task.id}`
}

function videoOf(exchange: Exchange, task: Task): Fields {
  const phase = phaseOf(task)
  const address = addressOf(exchange, task)
  const content = task.steering['result-url'] ?? `${address}/content?index=0`
  const failed = phase === 'failed' || phase === 'aborted'
  return {
    id: task.id,
    polling_url: address,
    status: STATUS[phase],
    ...(failed && { error: worded(task, `The sandbox: ${STATUS[phase]}.`) }),
    ...(phase === 'succeeded' && {
      generation_id: `gen-${task.id}`,
      unsigned_urls: task.steering.empty ? [] : [content],
      usage: { cost: costOf(TOKENS_PER_VIDEO), is_byok: false },
    }),
  }
}

function sendVideo(exchange: Exchange): Promise<void> {
  const task = taskOf(exchange)
  const index = exchange.query.get('index') ?? '0'
  if (phaseOf(task) !== 'succeeded' || index !== '0') {
    throw new Refusal({ status: 404, message: 'There is no such content (yet).' })
  }
  return sendMedium(exchange, mediumOf(task), task.id)
}
