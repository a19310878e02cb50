/** Models with every shape of price, for the catalogue of a test. Their rates are small enough to be told apart. */
export function pricedModels(): Record<string, unknown>[] {
  const served = (model: string, more: object = {}) => ({ upstreams: [{ upstream: 'sandbox', model, ...more }] })
  return [
    {
      id: 'priced-chat',
      modality: 'chat',
      pricing: { input: 10, cachedInput: 1, cacheWrite: 13, output: 30, perCall: 7, perTokens: 1000, minimum: 2 },
      maxOutputTokens: 4096,
      partTokens: { input_audio: 90, file: 100, video: 200 },
      ...served('gpt-sandbox', { allow: ['thinking', 'service_tier'] }),
    },
    {
      id: 'priced-video',
      modality: 'video',
      durations: { min: 1, max: 10, default: 4 },
      resolutions: ['720p', '1080p', '480p'],
      prices: [
        { resolution: '1080p', perSecond: 40 },
        { resolution: '720p', perSecond: 25 },
      ],
      ...served('video-sandbox'),
    },
    {
      id: 'listed-video',
      modality: 'video',
      durations: [8, 4],
      prices: [{ resolution: '720p', credits: 90 }, { perSecond: 11 }],
      ...served('video-sandbox'),
    },
    {
      id: 'priced-image',
      modality: 'image',
      resolutions: ['1K', '2K', '4K'],
      prices: [{ resolution: '4K', credits: 90 }, { credits: 25 }],
      ...served('image-sandbox'),
    },
  ]
}
