/**
 * POST /v1/moderations.
 */
import { z } from 'zod'
import type { ModerationModel } from '../../shared/catalogue/catalogue.ts'
import { chosen, closed, documented, listOf, optional, within } from '../../shared/requests/field-schemas.ts'
import { MAX_INPUTS } from '../../shared/requests/moderations.ts'
import type { ModerationPart, ModerationRequest } from '../../shared/requests/moderations.ts'
import { callCost } from '../../shared/terms/pricing.ts'
import type { JsonObject } from '../middleware/json-body.ts'
import { answerWhenDone } from './calls/answer-call.ts'
import { imageUrl, modelId } from './calls/call-schemas.ts'
import { parseBody } from '../../shared/requests/parse-body.ts'
import type { CallKind } from './calls/serve-call.ts'
import { callEndpoint } from './calls/serve-call.ts'
import { isFields } from '../../shared/platform/fields.ts'
import { accepted, callHeaders, callUsage, placesCalls } from './declared.ts'

const text = z.string().min(1, 'must not be empty')

const textPart = closed({ type: z.literal('text'), text })
const imagePart = closed({ type: z.literal('image_url'), image_url: closed({ url: imageUrl }) })
const part = chosen<z.ZodType<ModerationPart>>([textPart, imagePart], ({ type }) =>
  type === 'image_url' ? imagePart : textPart,
)

const texts = listOf(text, 1, MAX_INPUTS)
const parts = listOf(part, 1, MAX_INPUTS)

const input = z
  .custom<unknown>(
    (value) => typeof value === 'string' || Array.isArray(value),
    'must be a text, a list of texts or a list of parts',
  )
  .meta({
    anyOf: [{ type: 'string', minLength: 1 }, documented(z.array(text)), documented(z.array(part))],
    description: `A text, a list of up to ${MAX_INPUTS} texts, or a list of parts that are judged together.`,
  })
  .transform((value, context): ModerationRequest['input'] => {
    if (typeof value === 'string') return within(text, value, context)
    return Array.isArray(value) && isFields(value[0]) ? within(parts, value, context) : within(texts, value, context)
  })

const moderationBody = closed({
  model: optional(modelId).meta({ description: 'Where it is absent: the first of its kind that the key may call.' }),
  input,
}).meta({ id: 'ModerationRequest' })

type AskedModeration = { request: ModerationRequest; estimate: null; charge: number }

/** What is asked for; every call costs the same. @throws ApiError invalid_request */
function parse(body: JsonObject, { price }: ModerationModel): AskedModeration {
  const { input: asked } = parseBody(moderationBody, body)
  return { request: { input: asked }, estimate: null, charge: callCost(price) }
}

/** What is specific to moderations. */
export const moderationKind: CallKind<ModerationModel, AskedModeration> = {
  modality: 'moderation',
  mayOmitModel: true,
  parse,
  answer: (ctx, deps, placed) => answerWhenDone(ctx, deps, placed),
}

/** A moderation, in the form of OpenAI's API. */
const moderationResult = z
  .strictObject({
    ok: z.literal(true),
    id: z.string().meta({ description: 'The id of the call.' }),
    model: z.string(),
    results: z.array(
      z.strictObject({
        flagged: z.boolean(),
        categories: z.record(z.string(), z.boolean().nullable()),
        category_scores: z.record(z.string(), z.number().nullable()),
        category_applied_input_types: z.record(z.string(), z.array(z.string())).optional(),
      }),
    ),
    usage: callUsage,
  })
  .meta({ id: 'ModerationResult', description: 'A result for each of several texts, else one.' })

/** Judges texts and pictures. */
export const createModeration = callEndpoint(
  {
    ...placesCalls,
    path: '/v1/moderations',
    summary: 'Judge texts and pictures',
    description: 'Every call costs the same, whatever it carries; nothing where the model is free.',
    body: moderationBody,
    answers: {
      200: { description: 'The moderation.', schema: moderationResult, headers: callHeaders },
      202: accepted,
    },
  },
  moderationKind,
)
