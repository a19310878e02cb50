/**
 * What clients read of a model besides our own fields, in the names of OpenRouter's list.
 */
import { z } from 'zod'
import type { ChatModel, Model } from '../../shared/catalogue/catalogue.ts'
import { KINDS } from '../../shared/terms/kinds.ts'
import type { ChatOptions } from '../../shared/chat/completions/fields.ts'
import { dollarsOf } from '../../shared/terms/dollars.ts'
import { anyPricing, model, ok, pricing, searchPricing, speechPricing } from '../endpoint/answer-schemas.ts'

/** What message parts carry which a chat takes only if it prices them in `partTokens`, by the names there. */
const CARRIED_BY: Readonly<Record<string, string>> = {
  input_audio: 'audio',
  audio: 'audio',
  audio_url: 'audio',
  file: 'file',
  document: 'file',
  video: 'video',
  video_url: 'video',
}

/** What a chat can be asked for, by OpenRouter's names: the field that an upstream is sent for it. */
const FIELD_OF = {
  tools: 'tools',
  tool_choice: 'tool_choice',
  parallel_tool_calls: 'parallel_tool_calls',
  response_format: 'response_format',
  structured_outputs: 'response_format',
  reasoning: 'reasoning_effort',
  max_tokens: 'max_tokens',
  temperature: 'temperature',
  top_p: 'top_p',
  top_k: 'top_k',
  min_p: 'min_p',
  stop: 'stop',
  seed: 'seed',
  presence_penalty: 'presence_penalty',
  frequency_penalty: 'frequency_penalty',
  repetition_penalty: 'repetition_penalty',
  logit_bias: 'logit_bias',
  logprobs: 'logprobs',
  top_logprobs: 'top_logprobs',
} as const satisfies Record<string, keyof ChatOptions>

const decimal = z.string().regex(/^\d+(\.\d+)?$/)
const limit = z.int().nullable()

/** Prices in US dollars. */
const dollars = {
  prompt: decimal.meta({ description: 'US dollars an input token.' }),
  completion: decimal.meta({ description: 'US dollars an output token.' }),
  request: decimal.meta({
    description:
      'US dollars a call, in addition to its tokens; of a video or a ranking the least; of a moderation all of it.',
  }),
  image: decimal.meta({ description: 'US dollars a picture that is made, at least.' }),
  input_cache_read: decimal.meta({ description: 'US dollars an input token that is read from a cache.' }),
  input_cache_write: decimal.meta({ description: 'US dollars an input token that is written to a cache.' }),
}

/** A model as `/v1` shows it. */
export const listedModel = model
  .extend({
    name: z.string(),
    description: z.string(),
    context_length: z.int().meta({ description: '0 where the model states none, or has none.' }),
    max_output_tokens: limit.meta({ description: 'null where the model states none, or has none.' }),
    top_provider: z.strictObject({
      context_length: limit,
      max_completion_tokens: limit,
      is_moderated: z.literal(false),
    }),
    architecture: z.strictObject({ input_modalities: z.array(z.string()), output_modalities: z.array(z.string()) }),
    supported_parameters: z.array(z.string()).meta({ description: 'Chats: what every upstream of the model is sent.' }),
    supported_endpoints: z.array(z.string()).meta({ description: 'The paths at which the model is called.' }),
    pricing: z
      .union([
        anyPricing,
        pricing.extend(dollars),
        searchPricing.extend(dollars),
        speechPricing.extend(dollars),
        z.strictObject(dollars),
      ])
      .optional()
      .meta({
        description:
          'All but media and moderations: the price in credits. Where the operator has stated what a credit is ' +
          'worth, every model has its price in US dollars next to it, as exact decimals.',
      }),
  })
  .meta({ id: 'ListedModel' })

/** The models, in the form of OpenAI. */
export const listedModels = z.strictObject({ ok, object: z.literal('list'), data: z.array(listedModel) })

/** What clients read of a model, but for its price. */
export function clientFieldsOf(one: Model) {
  const { modalities, paths } = KINDS[one.modality]
  const { contextLength = null, maxOutputTokens = null } = one.modality === 'chat' ? one : {}
  return {
    name: one.name ?? one.id,
    description: one.description ?? '',
    context_length: contextLength ?? 0,
    max_output_tokens: maxOutputTokens,
    top_provider: {
      context_length: contextLength,
      max_completion_tokens: maxOutputTokens,
      is_moderated: false as const,
    },
    architecture: {
      input_modalities: [...new Set([...modalities.input, ...(one.modality === 'chat' ? carriedBy(one) : [])])],
      output_modalities: [...modalities.output],
    },
    supported_parameters: one.modality === 'chat' ? parametersOf(one) : [],
    supported_endpoints: [...paths],
  }
}

const carriedBy = ({ partTokens = {} }: ChatModel): string[] =>
  Object.keys(partTokens).flatMap((part) => (Object.hasOwn(CARRIED_BY, part) ? CARRIED_BY[part]! : []))

/** The fields that every route of a chat accepts. */
function parametersOf({ routes }: ChatModel): string[] {
  const dropped = new Set(routes.flatMap(({ drop }) => drop))
  return Object.entries(FIELD_OF).flatMap(([parameter, field]) => (dropped.has(field) ? [] : [parameter]))
}

/**
 * The price of a model in dollars.
 * @param least the least that a call costs, in credits
 * @param worth what a credit is worth, in micro-dollars
 */
export function dollarPricesOf(one: Model, least: number, worth: number): Record<keyof typeof dollars, string> {
  const none = { prompt: '0', completion: '0', request: '0', image: '0', input_cache_read: '0', input_cache_write: '0' }
  if (one.modality === 'embedding') {
    return { ...none, prompt: dollarsOf(one.price.input, worth, one.price.perTokens, one.price) }
  }
  if (one.modality !== 'chat') {
    return { ...none, [one.modality === 'image' ? 'image' : 'request']: dollarsOf(least, worth) }
  }
  const { input, output, cachedInput = input, cacheWrite = input, perCall = 0, perTokens } = one.price
  return {
    ...none,
    prompt: dollarsOf(input, worth, perTokens, one.price),
    completion: dollarsOf(output, worth, perTokens, one.price),
    request: dollarsOf(perCall, worth, 1, one.price),
    input_cache_read: dollarsOf(cachedInput, worth, perTokens, one.price),
    input_cache_write: dollarsOf(cacheWrite, worth, perTokens, one.price),
  }
}
