/**
 * Media tasks: submit, poll, fetch the result. One engine for all upstreams; what differs between them is a preset, a
 * table of small functions that translate and neither send nor wait.
 */
import type { UpstreamRef } from '../../../shared/calls/types.ts'
import type { MediaRequest } from '../../../shared/requests/requests.ts'
import type { MediaSource, TaskMediaAdapter, TaskState, UpstreamContext } from '../adapter.ts'
import { UpstreamError } from '../adapter.ts'
import { malformedAnswer } from '../failures.ts'
import { asFields, isText } from '../../../shared/platform/fields.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import { isSameOrigin } from '../http.ts'
import type { UpstreamHttp, UpstreamRequest } from '../http.ts'
import { sourceOf } from '../media-source.ts'

type Unsent<Methods> = { method: Methods; body?: UpstreamRequest['body'] } & ({ path: string } | { url: string })

/** A task as its reference has it. `urls` are the upstream's own addresses, verbatim. */
export type TaskRef = { id: string; submittedAt: number; urls: Record<string, string> }

/**
 * What an upstream reports of a task. `fetch`: its result must be read first. `needsKey`: the key opens the address.
 * `costMicroUsd`: the reported cost of the task.
 */
export type TaskReport =
  | { is: 'running'; progress?: number | null }
  | { is: 'failed'; error: UpstreamError }
  | { is: 'done'; addresses: readonly string[]; needsKey?: boolean; costMicroUsd?: number | null }
  | { is: 'fetch'; request: Unsent<'GET'> }

/** How an upstream does tasks. */
export type TaskPreset = {
  /** The submission. */
  submission(request: MediaRequest, context: UpstreamContext): Unsent<'POST'>
  /** A submission carries the bytes of a picture. */
  uploads?: boolean
  /**
   * The task's id and addresses in the answer to the submission; an id that is no text makes the answer
   * malformedAnswer.
   */
  accepted(answer: Fields): { id: unknown; urls?: Record<string, unknown> }
  /** Where to ask for the task. */
  status(task: TaskRef): Unsent<'GET'>
  /** The report in the answer to that. Unknown status words are `running`: the call's deadline ends them. */
  report(answer: Fields, task: TaskRef, context: UpstreamContext): TaskReport
  /** The report in a fetched result; only for presets that report `fetch`. */
  result?(answer: Fields, context: UpstreamContext): TaskReport
  /** The report in a refusal of the result; undefined if it does not concern the task: it is fetched again. */
  refusedResult?(refusal: UpstreamError): TaskReport | undefined
  /** How to stop the task; absent or null where that cannot be asked for. */
  cancellation?(task: TaskRef): Unsent<'POST' | 'PUT' | 'DELETE'> | null
  /** The share of the task's age that passes between two polls. */
  pace: number
}

const MIN_PAUSE_MS = 500
const MAX_PAUSE_MS = 15_000

/** How long a task may be unknown to the upstream that has just accepted it, in ms: some answer 404 for a moment. */
const GRACE_MS = 10_000

/**
 * How long to wait for the next poll of a task of this age, in ms: a share of its age, so that short tasks are seen
 * soon, long ones cost few requests, and workers share no counter.
 */
export const pauseAfter = (ageMs: number, pace: number): number =>
  Math.round(Math.min(Math.max(ageMs * pace, MIN_PAUSE_MS), MAX_PAUSE_MS))

/** The adapter of a preset. */
export function createTaskAdapter(http: UpstreamHttp, preset: TaskPreset): TaskMediaAdapter {
  return {
    kind: 'task',
    uploads: preset.uploads ?? false,

    async submit(request, context) {
      const answer = await http.json({ ...preset.submission(request, context), kind: 'submit' }, context)
      const { id, urls = {} } = preset.accepted(answer)
      if (!isText(id)) throw malformedAnswer('the submission was answered without a task')
      const { baseUrl } = context.route.upstream
      // Refused here and not only at the first poll: an address of another origin would never be asked.
      if (!Object.values(urls).every((url) => typeof url === 'string' && isSameOrigin(url, baseUrl))) {
        throw malformedAnswer('the submission was answered with addresses that are not of its own origin')
      }
      return { id, submittedAt: Date.now(), urls }
    },

    async check(ref, context) {
      const task = taskOf(ref)
      const ageMs = Date.now() - task.submittedAt
      const running = { state: 'running', progress: null, pollAfterMs: pauseAfter(ageMs, preset.pace) } as const
      try {
        const answer = await http.json({ ...preset.status(task), kind: 'poll' }, context)
        const report = await resolved(http, preset, preset.report(answer, task, context), context)
        return stateOf(report, running, (address) => http.downloadHeaders(address, context.route.upstream))
      } catch (error) {
        if (ageMs < GRACE_MS && error instanceof UpstreamError && error.status === 404) return running
        throw error
      }
    },

    async cancel(ref, context) {
      const cancellation = preset.cancellation?.(taskOf(ref))
      if (!cancellation) return
      try {
        const body = await http.body({ ...cancellation, kind: 'poll' }, context)
        body.release(true)
      } catch (error) {
        // Nobody waits for it: the call has ended, and a task that goes on ends by itself.
        if (!(error instanceof UpstreamError)) throw error
      }
    },
  }
}

/** A reference as `submit` wrote it. @throws UpstreamError `rejected` for anything else */
function taskOf(ref: UpstreamRef): TaskRef {
  const { id, submittedAt, urls } = ref
  if (typeof id === 'string' && typeof submittedAt === 'number') {
    return { id, submittedAt, urls: asFields(urls) as Record<string, string> }
  }
  throw new UpstreamError('rejected', 'this is no reference to a task')
}

/** Reads the result if the report requires that. */
async function resolved(
  http: UpstreamHttp,
  preset: TaskPreset,
  report: TaskReport,
  context: UpstreamContext,
): Promise<TaskReport> {
  if (report.is !== 'fetch' || !preset.result) return report
  try {
    return preset.result(await http.json({ ...report.request, kind: 'poll' }, context), context)
  } catch (error) {
    const said = error instanceof UpstreamError ? preset.refusedResult?.(error) : undefined
    if (said) return said
    throw error
  }
}

type Running = TaskState & { state: 'running' }
type KeyFor = (address: string) => Record<string, string> | undefined

function stateOf(report: TaskReport, running: Running, keyFor: KeyFor): TaskState {
  switch (report.is) {
    case 'running':
      return { ...running, progress: report.progress ?? null }
    case 'failed':
      return { state: 'failed', error: report.error }
    case 'done':
      return ended(report, (address) => sourceOf(address, report.needsKey ? keyFor(address) : undefined))
    case 'fetch':
      return running
  }
}

/** A cost as a result carries it: nothing where none is known. */
export const costed = (costMicroUsd: number | null | undefined): { costMicroUsd?: number } =>
  costMicroUsd === null || costMicroUsd === undefined ? {} : { costMicroUsd }

/**
 * A task that succeeded without a result has failed: asking again would bring the same answer. Addresses that cannot be
 * used are passed over while others can.
 */
function ended({ addresses, costMicroUsd }: TaskReport & { is: 'done' }, source: (address: string) => MediaSource) {
  const files: MediaSource[] = []
  let failure = malformedAnswer('the task has ended without a result')
  for (const address of addresses) {
    try {
      files.push(source(address))
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error
      failure = error
    }
  }
  return files.length > 0
    ? ({ state: 'succeeded', made: { files, ...costed(costMicroUsd) } } as const)
    : ({ state: 'failed', error: failure } as const)
}
