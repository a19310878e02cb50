import type { Exchange, Route } from '../exchange.ts'
import { admit, answer } from '../http/answer.ts'
import { sendContent } from '../http/content.ts'
import { sendMedium } from '../media/files.ts'
import { looksLikeImage } from '../media/kinds.ts'
import { drawPng } from '../media/png.ts'
import { worded } from '../steering.ts'
import { endOf, hasEnded, phaseOf, progressOf } from '../tasks/task.ts'
import type { Phase, Task } from '../tasks/task.ts'
import { cancelTask, mediumOf, polledTask, startTask, taskOf } from '../tasks/tasks.ts'
import { asText, Refusal } from '../wire.ts'
import type { Fields } from '../wire.ts'
import { invalid } from './errors.ts'

const STATUS: Readonly<Record<Phase, string>> = {
  queued: 'queued',
  running: 'in_progress',
  unknown: 'marinating',
  succeeded: 'completed',
  failed: 'failed',
  aborted: 'failed',
  cancelled: 'failed',
}
const EXPIRES_AFTER_SECONDS = 3600

/** Videos in OpenAI's dialect. OpenAI has retired it; other servers still speak it. */
export const videoRoutes: readonly Route[] = [
  {
    method: 'POST',
    path: '/v1/videos',
    submission: ({ fields }) => ({ model: asText(fields['model']), prompt: asText(fields['prompt']) }),
    handle: createVideo,
  },
  { method: 'GET', path: '/v1/videos', handle: listVideos },
  { method: 'GET', path: '/v1/videos/:id', handle: (exchange) => answer(exchange, videoOf(polledTask(exchange))) },
  { method: 'GET', path: '/v1/videos/:id/content', handle: sendVideo },
  {
    method: 'DELETE',
    path: '/v1/videos/:id',
    handle: (exchange) => {
      const task = taskOf(exchange)
      cancelTask(task)
      exchange.state.tasks.remove(task)
      return answer(exchange, { id: task.id, object: 'video.deleted', deleted: true })
    },
  },
]

async function createVideo(exchange: Exchange): Promise<void> {
  const { model, prompt } = exchange
  const { fields, files } = exchange.body
  if (!model) throw invalid('you must provide a model parameter', 'model')
  if (!prompt) throw invalid("Missing required parameter: 'prompt'.", 'prompt')
  const seconds = fields['seconds'] ?? '4'
  if (typeof seconds !== 'string' || !(Number(seconds) > 0)) throw invalid('seconds must be a string', 'seconds')
  for (const file of files) {
    if (file.field !== 'input_reference') continue
    if (!looksLikeImage(file.bytes)) throw invalid('The bytes of input_reference are no image.', 'input_reference')
  }
  await admit(exchange, 'task')
  const task = startTask(exchange, 'video', fields, { seconds, size: asText(fields['size']) || '1280x720' })
  await answer(exchange, videoOf(task, task.createdAt))
}

/** A video as it is now, or was at another time (milliseconds since the epoch). */
function videoOf(task: Task, at = Date.now()): Fields {
  const phase = phaseOf(task, at)
  const ended = hasEnded(task, at)
  const createdAt = Math.floor(task.createdAt / 1000)
  return {
    id: task.id,
    object: 'video',
    model: task.model,
    status: STATUS[phase],
    progress: progressOf(task, at),
    created_at: createdAt,
    completed_at: ended ? Math.floor(endOf(task) / 1000) : null,
    expires_at: phase === 'succeeded' ? createdAt + EXPIRES_AFTER_SECONDS : null,
    prompt: task.prompt,
    ...task.echo,
    remixed_from_video_id: null,
    error:
      ended && phase !== 'succeeded'
        ? { code: 'generation_failed', message: worded(task, `The sandbox: ${phase}.`) }
        : null,
  }
}

/** At most `limit` tasks after the one named by `after`, newest first (`order=asc`: oldest first). */
function listVideos(exchange: Exchange): Promise<void> {
  const { state, protocol, query } = exchange
  const tasks = state.tasks.list(protocol.name)
  if (query.get('order') === 'asc') tasks.reverse()
  const from = tasks.findIndex((task) => task.id === query.get('after')) + 1
  const limit = Math.min(100, Math.max(1, Number(query.get('limit')) || 20))
  const page = tasks.slice(from, from + limit)
  return answer(exchange, {
    object: 'list',
    data: page.map((task) => videoOf(task)),
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
    has_more: tasks.length > from + limit,
  })
}

async function sendVideo(exchange: Exchange): Promise<void> {
  const task = taskOf(exchange)
  if (phaseOf(task) !== 'succeeded') {
    throw new Refusal({ status: 400, message: 'This video is not ready.', code: 'video_not_ready' })
  }
  const variant = exchange.query.get('variant') ?? 'video'
  if (variant === 'video') return sendMedium(exchange, mediumOf(task), task.id)
  if (variant !== 'thumbnail' && variant !== 'spritesheet') throw invalid('No such variant.', 'variant')
  return sendContent(exchange, { bytes: await drawPng(task.size, task.prompt), type: 'image/png' })
}
