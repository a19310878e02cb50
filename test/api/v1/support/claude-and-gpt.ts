import type { Catalogue } from '../../../../scripts/harness/harness.ts'

/** What the chats of `claudeAndGpt` cost. */
const PRICING = { input: 1000, output: 3000, perTokens: 1000, minimum: 1 }

/** Adds a chat over an upstream that speaks the Messages API, `claude`, and one over chat completions, `gpt`. */
export function claudeAndGpt({ upstreams, models }: Catalogue): void {
  const { baseUrl, ...sandbox } = upstreams.sandbox as { baseUrl: string }
  const claude = { ...sandbox, protocol: 'anthropic', baseUrl: baseUrl.replace('/v1', '/anthropic') }
  Object.assign(upstreams, { claude })
  models.push(
    {
      id: 'claude',
      modality: 'chat',
      pricing: PRICING,
      upstreams: [{ upstream: 'claude', model: 'claude-sandbox' }],
    },
    { id: 'gpt', modality: 'chat', pricing: PRICING, upstreams: [{ upstream: 'sandbox', model: 'sandbox/chat' }] },
  )
}
