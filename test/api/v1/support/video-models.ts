import type { Catalogue } from '../../../../scripts/harness/harness.ts'

/** Adds models of videos at a queue, at a second route, at an upstream that links to them, and at one of one place. */
export function addVideos({ upstreams, models }: Catalogue): void {
  const { baseUrl, ...sandbox } = upstreams.sandbox as { baseUrl: string }
  const queue = { ...sandbox, protocol: 'fal', baseUrl: baseUrl.replace('/v1', '/fal') }
  const narrow = { ...upstreams.sandbox, concurrency: 1 }
  Object.assign(upstreams, { queue, linking: { ...queue, results: 'link' }, narrow })
  const ofQueue = { upstream: 'queue', model: 'fal-ai/video-sandbox' }
  const at = (upstream: string) => ({ upstream, model: 'video-sandbox' })
  for (const [id, ...routes] of [
    ['queue-video', ofQueue],
    ['second-video', at('unreachable'), ofQueue],
    ['linked-video', { ...ofQueue, upstream: 'linking' }],
    ['narrow-video', at('narrow')],
  ] as const)
    models.push({ id, modality: 'video', credits: 250, upstreams: routes })
}
