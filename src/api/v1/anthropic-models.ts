/**
 * The list of models and one of them in Anthropic's form: chats alone.
 */
import { z } from 'zod'
import type { ChatModel } from '../../shared/catalogue/catalogue.ts'
import { fieldRefusal } from '../../shared/platform/field-errors.ts'
import { wholeNumber } from '../endpoint/fields.ts'

/** How many models a page has by default. */
const PAGE = 20

const id = z.string({ error: 'must appear only once' }).min(1, 'must not be empty').optional()

/** Which page of the list is asked for. */
export const anthropicPage = z.object({
  limit: wholeNumber(1, 1000)
    .optional()
    .meta({ description: `With \`anthropic-version\`: the most models to return, ${PAGE} if absent.` }),
  after_id: id.meta({ description: 'With `anthropic-version`: the models behind this one, the `last_id` of a page.' }),
  before_id: id.meta({ description: 'With `anthropic-version`: the models before this one.' }),
})

/** The header that asks for this form. */
export const anthropicHeaders = z.object({
  'anthropic-version': z
    .string()
    .optional()
    .meta({
      description: "Any value: the answer is in Anthropic's form, and has chats alone. Errors are, too.",
      examples: ['2023-06-01'],
    }),
})

const tokens = z.int().nullable()

/** A model in Anthropic's form. What the catalogue does not state is null. */
export const anthropicModel = z
  .strictObject({
    type: z.literal('model'),
    id: z.string(),
    display_name: z.string(),
    created_at: z.iso.datetime().meta({ description: 'When the version of the catalogue was applied.' }),
    max_input_tokens: tokens.meta({ description: 'The most tokens of input and output together.' }),
    max_tokens: tokens.meta({ description: 'The most output tokens.' }),
    capabilities: z.null(),
    lifecycle: z.literal('active'),
    line: z.null(),
    deprecated_at: z.null(),
    retires_at: z.null(),
  })
  .meta({ id: 'AnthropicModel' })

/** A page of the list in Anthropic's form. */
export const anthropicModels = z
  .strictObject({
    data: z.array(anthropicModel),
    has_more: z.boolean(),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
  })
  .meta({ id: 'AnthropicModelList' })

/** @param created when its version of the catalogue was applied, in Unix seconds */
export function presentForAnthropic(model: ChatModel, created: number): z.input<typeof anthropicModel> {
  return {
    type: 'model',
    id: model.id,
    display_name: model.name ?? model.id,
    created_at: new Date(created * 1000).toISOString(),
    max_input_tokens: model.contextLength ?? null,
    max_tokens: model.maxOutputTokens ?? null,
    capabilities: null,
    lifecycle: 'active',
    line: null,
    deprecated_at: null,
    retires_at: null,
  }
}

/**
 * The page that is asked for. `has_more` is about its own direction: models behind it, or before it with `before_id`.
 * @throws ApiError invalid_request for both cursors at once, and for one that names none of the models
 */
export function pageForAnthropic(
  models: readonly ChatModel[],
  created: number,
  { limit = PAGE, after_id: after, before_id: before }: z.output<typeof anthropicPage>,
): z.input<typeof anthropicModels> {
  if (after !== undefined && before !== undefined) {
    throw fieldRefusal('before_id', 'cannot be combined with after_id')
  }
  const begin = after === undefined ? 0 : placeOf(models, 'after_id', after) + 1
  const end = before === undefined ? models.length : placeOf(models, 'before_id', before)
  const [from, to] = before === undefined ? [begin, Math.min(begin + limit, end)] : [Math.max(0, end - limit), end]
  const page = models.slice(from, to)
  return {
    data: page.map((model) => presentForAnthropic(model, created)),
    has_more: before === undefined ? to < end : from > 0,
    first_id: page.at(0)?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
  }
}

function placeOf(models: readonly ChatModel[], param: string, wanted: string): number {
  const place = models.findIndex((model) => model.id === wanted)
  if (place >= 0) return place
  throw fieldRefusal(param, 'is no model of this list')
}
