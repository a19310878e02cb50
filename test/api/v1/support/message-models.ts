import type { Catalogue } from '../../../../scripts/harness/harness.ts'

/** The prices of `claude` and `gpt`: each count of a call has its own. */
export const MESSAGE_PRICES = {
  input: 1000,
  cachedInput: 100,
  cacheWrite: 1250,
  output: 3000,
  perTokens: 1000,
  minimum: 1,
}

/** Adds two models of the sandbox: `claude`, whose upstream speaks the Messages API, and `gpt`, whose does not. */
export function claudeAndGpt({ upstreams, models }: Catalogue): void {
  const { baseUrl, ...sandbox } = upstreams.sandbox as { baseUrl: string }
  Object.assign(upstreams, {
    claude: { ...sandbox, protocol: 'anthropic', baseUrl: baseUrl.replace('/v1', '/anthropic') },
  })
  const common = { modality: 'chat', pricing: MESSAGE_PRICES } as const
  models.push(
    { id: 'claude', ...common, upstreams: [{ upstream: 'claude', model: 'claude-sandbox' }] },
    { id: 'gpt', ...common, upstreams: [{ upstream: 'sandbox', model: 'sandbox/chat' }] },
  )
}
