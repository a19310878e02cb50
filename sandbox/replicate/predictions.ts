import { originOf } from '../exchange.ts'
import type { Exchange, Route } from '../exchange.ts'
import { admit, answer } from '../http/answer.ts'
import { pause } from '../http/outlet.ts'
import { kindOf } from '../media/kinds.ts'
import { worded } from '../steering.ts'
import { endOf, hasEnded, phaseOf } from '../tasks/task.ts'
import type { Phase, Task } from '../tasks/task.ts'
import { cancelTask, polledTask, resultUrls, startTask, taskOf } from '../tasks/tasks.ts'
import { asFields, asText, Refusal } from '../wire.ts'
import type { Fields } from '../wire.ts'

const STATUS: Readonly<Record<Phase, string>> = {
  queued: 'starting',
  running: 'processing',
  unknown: 'simmering',
  succeeded: 'succeeded',
  failed: 'failed',
  aborted: 'aborted',
  cancelled: 'canceled',
}
const ROOT = '/replicate/v1/predictions'
const DEFAULT_WAIT_SECONDS = 60
const PAGE = 100

/** The endpoints of predictions: by official model or by version, read, cancel, list. */
export const predictionRoutes: readonly Route[] = [
  {
    method: 'POST',
    path: '/replicate/v1/models/:owner/:name/predictions',
    submission: ({ fields }, { owner, name }) => ({ model: `${owner}/${name}`, prompt: promptOf(fields) }),
    handle: create,
  },
  {
    method: 'POST',
    path: ROOT,
    submission: ({ fields }) => ({ model: asText(fields['version']), prompt: promptOf(fields) }),
    handle: create,
  },
  { method: 'GET', path: ROOT, handle: list },
  {
    method: 'GET',
    path: `${ROOT}/:id`,
    handle: (exchange) => answer(exchange, predictionOf(exchange, polledTask(exchange))),
  },
  {
    method: 'POST',
    path: `${ROOT}/:id/cancel`,
    handle: (exchange) => {
      const task = taskOf(exchange)
      cancelTask(task)
      return answer(exchange, predictionOf(exchange, task))
    },
  },
]

function promptOf(fields: Fields): string {
  return asText(asFields(fields['input'])['prompt'])
}

async function create(exchange: Exchange): Promise<void> {
  const { model, prompt } = exchange
  const { fields } = exchange.body
  const input = asFields(fields['input'])
  if (!model) throw new Refusal({ status: 422, message: 'version is required' })
  if (!prompt) throw new Refusal({ status: 422, message: 'prompt is required', param: 'prompt' })
  await admit(exchange, 'task')
  const { webhook } = fields
  const task = startTask(exchange, kindOf(model), input, { input, webhook: asText(webhook) || null })
  const patience = waitMs(exchange.req.headers['prefer'])
  if (patience > 0 && !(await pause(exchange, Math.min(patience, untilEnd(task))))) return
  await answer(exchange, predictionOf(exchange, task, patience > 0 ? Date.now() : task.createdAt), 201)
}

/** How long `Prefer: wait[=seconds]` asks to hold the answer, in milliseconds. */
function waitMs(prefer: string | string[] | undefined): number {
  const found = /\bwait(?:=(\d{1,3}))?/.exec(String(prefer ?? ''))
  if (!found) return 0
  return Math.min(DEFAULT_WAIT_SECONDS, Number(found[1] ?? DEFAULT_WAIT_SECONDS)) * 1000
}

function untilEnd(task: Task): number {
  return task.steering.stuck || task.hold?.held ? Infinity : endOf(task) - Date.now() + 1
}

/** A prediction as it is now, or was at another time (milliseconds since the epoch). */
function predictionOf(exchange: Exchange, task: Task, at = Date.now()): Fields {
  const phase = phaseOf(task, at)
  const ended = hasEnded(task, at)
  const address = `${originOf(exchange)}${ROOT}/${task.id}`
  const seconds = task.durationMs / 1000
  return {
    id: task.id,
    model: task.model,
    version: 'sandbox',
    ...task.echo,
    status: STATUS[phase],
    output: phase === 'succeeded' ? outputOf(exchange, task) : null,
    error: phase === 'failed' || phase === 'aborted' ? worded(task, `The sandbox: ${phase}.`) : null,
    logs: phase === 'queued' ? '' : 'The sandbox is drawing.\n',
    metrics: ended && phase !== 'aborted' ? { predict_time: seconds, total_time: seconds } : {},
    urls: { get: address, cancel: `${address}/cancel` },
    data_removed: false,
    created_at: new Date(task.createdAt).toISOString(),
    started_at: phase === 'queued' || phase === 'aborted' ? null : new Date(task.createdAt).toISOString(),
    completed_at: ended ? new Date(endOf(task)).toISOString() : null,
  }
}

/** Video models answer with an address, image models with a list of them, and some with an object. */
function outputOf(exchange: Exchange, task: Task): unknown {
  const urls = resultUrls(exchange, task)
  const form = task.steering.output ?? (task.kind === 'image' ? 'array' : 'string')
  if (form === 'array') return urls
  return urls[0] === undefined || form === 'string' ? (urls[0] ?? null) : { [task.kind]: urls[0], seed: 42 }
}

function list(exchange: Exchange): Promise<void> {
  const newest = exchange.state.tasks.list(exchange.protocol.name).slice(0, PAGE)
  return answer(exchange, { next: null, previous: null, results: newest.map((task) => predictionOf(exchange, task)) })
}
