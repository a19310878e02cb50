import type { Exchange } from '../exchange.ts'
import { steeredFault } from '../http/answer.ts'
import { publish } from '../media/files.ts'
import type { MediaKind } from '../media/kinds.ts'
import { pixelSize } from '../media/size.ts'
import { shorten } from '../records/shorten.ts'
import { worded } from '../steering.ts'
import { Refusal } from '../wire.ts'
import type { Fields } from '../wire.ts'
import { hasEnded } from './task.ts'
import type { Task } from './task.ts'

/** Starts a task for an accepted submission. `asked` has the fields that name its size; the protocol repeats `echo`. */
export function startTask(exchange: Exchange, kind: MediaKind, asked: Fields, echo: Fields): Task {
  const { state, steering } = exchange
  const seconds = steering.duration ?? (kind === 'video' ? state.options.videoSeconds : state.options.imageSeconds)
  const task: Task = {
    id: state.ids.next(kind),
    protocol: exchange.protocol.name,
    model: exchange.model,
    prompt: exchange.prompt,
    steering,
    kind,
    size: pixelSize(asked),
    pictures: steering.pictures ?? (Number(asked['num_images'] ?? asked['num_outputs'] ?? asked['n']) || 1),
    createdAt: Date.now(),
    // Never zero, because progress is divided by it.
    durationMs: Math.max(1, seconds * 1000),
    hold: steering.hold && state.holds.add(exchange.prompt),
    echo: shorten(echo) as Fields,
    bill: exchange.bill,
    cancelledAt: undefined,
    urls: undefined,
  }
  state.tasks.add(task)
  return task
}

/** The task that a request is about, by the `:id` of its path. The journal shows the request under its prompt. */
export function taskOf(exchange: Exchange): Task {
  const task = exchange.state.tasks.find(exchange.protocol.name, exchange.params['id']!)
  if (!task) throw new Refusal({ status: 404, message: 'No such task.', code: 'not_found' })
  exchange.prompt = task.prompt
  exchange.model = task.model
  if (exchange.record) Object.assign(exchange.record, { prompt: task.prompt, model: task.model })
  return task
}

/** The task that a request polls, with the faults that its steering has for polls. */
export function polledTask(exchange: Exchange): Task {
  const task = taskOf(exchange)
  const errors = task.steering['poll-errors']
  if (!errors && !task.steering['not-found-first']) return task
  const polls = exchange.state.attempts.add(`poll ${task.id}`)
  if (polls === 1 && task.steering['not-found-first']) {
    throw new Refusal({ status: 404, message: 'No such task.', code: 'not_found' })
  }
  if (errors && polls <= errors.times) {
    const fault = steeredFault(errors.status)
    throw new Refusal({ ...fault, message: worded(task, fault.message) })
  }
  return task
}

/** Cancels a running task. Returns whether it was running. */
export function cancelTask(task: Task): boolean {
  if (hasEnded(task)) return false
  task.cancelledAt = Date.now()
  if (task.bill) task.bill.outcome = 'cancelled'
  return true
}

/** The addresses of what a task has made; none under `[empty]`. They are the same each time. */
export function resultUrls(exchange: Exchange, task: Task): readonly string[] {
  if (task.steering.empty) return []
  const medium = mediumOf(task)
  const seeds = Array.from({ length: task.kind === 'image' ? task.pictures : 1 }, (_, at) =>
    at === 0 ? medium.seed : `${medium.seed} #${at}`,
  )
  task.urls ??= seeds.map((seed) => publish(exchange, { ...medium, seed, prompt: task.prompt }))
  return task.urls
}

/** What a task has made. */
export function mediumOf(task: Task): Pick<Task, 'kind' | 'size' | 'steering' | 'prompt'> & { seed: string } {
  return { kind: task.kind, size: task.size, steering: task.steering, prompt: task.prompt, seed: task.prompt }
}
