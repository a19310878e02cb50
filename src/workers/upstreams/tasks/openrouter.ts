/** OpenRouter's images and videos: our own fields, one key for most vendors. A result's address needs the key. */
import { applyRules } from '../body-rules.ts'
import type { DirectMediaAdapter } from '../adapter.ts'
import { taskFailure, unfailed } from '../failures.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import type { UpstreamHttp } from '../http.ts'
import { madeImages } from '../openai/images.ts'
import { pictureFields } from '../picture-fields.ts'
import { reportedCost } from '../usage.ts'
import { addressesIn } from './media-address.ts'
import { costed } from './engine.ts'
import type { TaskPreset, TaskReport } from './engine.ts'
import { standing, wordOf } from './states.ts'

const RATIO = /^\d{1,3}:\d{1,3}$/
const PIXELS = /^\d{1,5}x\d{1,5}$/i

const imagePart = (url: string): Fields => ({ type: 'image_url', image_url: { url } })

/** A `resolution` under the name that fits its form. */
function shapeOf(resolution: string | undefined): Fields {
  if (resolution === undefined) return {}
  if (RATIO.test(resolution)) return { aspect_ratio: resolution }
  return PIXELS.test(resolution) ? { size: resolution } : { resolution }
}

/** Images: within one request. */
export function createOpenrouterImages(http: UpstreamHttp): DirectMediaAdapter {
  return {
    kind: 'direct',
    async generate(request, context) {
      const { prompt, image_url: image, resolution, size } = request
      const json = applyRules(
        {
          model: context.route.model,
          prompt,
          ...shapeOf(size ?? resolution),
          ...pictureFields(request),
          ...(image !== undefined && { input_references: [imagePart(image)] }),
        },
        context.route,
      )
      const asked = { method: 'POST', kind: 'image', path: '/images', body: { json } } as const
      const answer = unfailed(await http.json(asked, context))
      return { ...madeImages(answer, request), ...costed(reportedCost(answer.usage)) }
    },
  }
}

const pathOf = ({ id }: { id: string }): string => `/videos/${encodeURIComponent(id)}`

/** Videos: as tasks, which cannot be cancelled. */
export const openrouterVideos: TaskPreset = {
  submission: ({ prompt, image_url: image, duration, resolution }, { route }) => ({
    method: 'POST',
    path: '/videos',
    body: {
      json: applyRules(
        {
          model: route.model,
          prompt,
          duration,
          ...shapeOf(resolution),
          ...(image !== undefined && { frame_images: [{ ...imagePart(image), frame_type: 'first_frame' }] }),
        },
        route,
      ),
    },
  }),
  accepted: ({ id }) => ({ id }),
  status: (task) => ({ method: 'GET', path: pathOf(task) }),
  report: reportOf,
  // They ask for a poll every 10 s or so: reached soon, and short tasks are still seen early.
  pace: 1,
}

function reportOf(answer: Fields): TaskReport {
  const { error, unsigned_urls: unsigned, urls, usage } = answer
  switch (standing(answer)) {
    case 'done':
      return {
        is: 'done',
        addresses: [...addressesIn(unsigned, 'video'), ...addressesIn(urls, 'video')],
        needsKey: true,
        costMicroUsd: reportedCost(usage),
      }
    case 'failed':
      return { is: 'failed', error: taskFailure(wordOf(answer), error) }
    case 'running':
      return { is: 'running' }
  }
}
