import type { Catalogue } from '../../../../scripts/harness/harness.ts'

/** Adds them, and the upstreams that they need. */
export function addImages({ upstreams, models }: Catalogue): void {
  const sandbox = upstreams.sandbox as { baseUrl: string }
  const falling = { ...sandbox, protocol: 'fal', baseUrl: `${new URL(sandbox.baseUrl).origin}/fal` }
  Object.assign(upstreams, { linking: { ...sandbox, results: 'link' }, falling })
  models.push(...imageModels())
}

/** Models of images with every shape of price, for the catalogue of a test. */
export function imageModels(): Record<string, unknown>[] {
  const served = (model: string, more: object = {}) => ({ upstreams: [{ upstream: 'sandbox', model, ...more }] })
  return [
    {
      id: 'finished-image',
      modality: 'image',
      sizes: ['64x64', '64x96'],
      qualities: ['low', 'high'],
      maxPromptLength: 32_000,
      prices: [
        { size: '64x64', quality: 'low', credits: 5 },
        { size: '64x96', quality: 'low', credits: 7 },
        { quality: 'high', credits: 50 },
      ],
      ...served('gpt-image-sandbox'),
    },
    {
      id: 'gappy-image',
      modality: 'image',
      sizes: ['64x64', '64x96'],
      prices: [{ size: '64x64', credits: 9 }],
      ...served('image-sandbox'),
    },
    {
      id: 'otherwise-image',
      modality: 'image',
      qualities: ['low', 'high'],
      prices: [{ quality: 'high', credits: 30 }, { credits: 3 }],
      ...served('image-sandbox'),
    },
    { id: 'single-image', modality: 'image', credits: 11, ...served('image-sandbox', { drop: ['n', 'seed'] }) },
    { id: 'faithful-image', modality: 'image', credits: 12, ...served('image-sandbox', { allow: ['input_fidelity'] }) },
    { id: 'plain-image', modality: 'image', credits: 13, ...served('image-sandbox', { drop: ['image_url'] }) },
    { id: 'linked-image', modality: 'image', credits: 14, upstreams: [{ upstream: 'linking', model: 'url-sandbox' }] },
    {
      id: 'routed-image',
      modality: 'image',
      credits: 15,
      upstreams: [
        { upstream: 'sandbox', model: 'first-sandbox', drop: ['n'] },
        { upstream: 'sandbox', model: 'second-sandbox' },
      ],
    },
    { id: 'task-image', modality: 'image', credits: 16, upstreams: [{ upstream: 'falling', model: 'some/image' }] },
  ]
}
