/** What the providers of litellm speak: the prefix of its names of models (`groq/llama-3.3-70b`). */
import type { Protocol } from '../../../shared/catalogue/catalogue.ts'

/** A provider; `baseUrl`: null if each model states its own. */
export type Provider = { protocol: Protocol; baseUrl: string | null }

const openai = (baseUrl: string | null): Provider => ({ protocol: 'openai', baseUrl })

/** Every provider that has a protocol here. */
export const PROVIDERS: Readonly<Record<string, Provider>> = {
  openai: openai('https://api.openai.com/v1'),
  anthropic: { protocol: 'anthropic', baseUrl: 'https://api.anthropic.com' },
  openrouter: { protocol: 'openrouter', baseUrl: 'https://openrouter.ai/api/v1' },
  gemini: openai('https://generativelanguage.googleapis.com/v1beta/openai'),
  groq: openai('https://api.groq.com/openai/v1'),
  deepseek: openai('https://api.deepseek.com/v1'),
  mistral: openai('https://api.mistral.ai/v1'),
  xai: openai('https://api.x.ai/v1'),
  together_ai: openai('https://api.together.xyz/v1'),
  fireworks_ai: openai('https://api.fireworks.ai/inference/v1'),
  moonshot: openai('https://api.moonshot.ai/v1'),
  dashscope: openai('https://dashscope-intl.aliyuncs.com/compatible-mode/v1'),
  perplexity: openai('https://api.perplexity.ai'),
  cerebras: openai('https://api.cerebras.ai/v1'),
  hosted_vllm: openai(null),
  openai_like: openai(null),
  custom_openai: openai(null),
  lm_studio: openai(null),
}
