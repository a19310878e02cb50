/**
 * The schemas of answers. They are strict: a field that is not named here is in no answer, which a test checks of
 * every endpoint. Only what an upstream adds to a chat answer is open.
 */
import { z } from 'zod'
import { MAX_SECONDS } from '../../shared/requests/media-options.ts'
import { SESSION_USES } from '../../shared/calls/tries.ts'
import type { ErrorCode } from '../../shared/platform/errors.ts'
import { shownCodeOf } from '../../shared/platform/errors.ts'
import { MODALITIES } from '../../shared/terms/kinds.ts'
import { LANGUAGE_TAGS } from '../../shared/terms/languages.ts'
import { CALL_STATUSES } from '../../shared/terms/lifecycle.ts'
import { DIALECTS } from '../../shared/chat/dialect.ts'
import { ENTRY_KINDS, ORIGINS } from '../../shared/ledger/ledger.ts'
import { errorsOf } from '../middleware/request-context.ts'
import type { Envelope } from '../middleware/request-context.ts'
import { catalogueChanges } from '../operator/catalogue-changes.ts'
import { measured, receipt } from './receipt-schemas.ts'

/** In every answer that is not an error. */
export const ok = z.literal(true)
/** An amount. */
export const credits = z.int().meta({ description: 'Credits.' })
/** A moment. */
export const time = z.iso.datetime({ precision: 3 }).meta({ description: 'ISO 8601, UTC, milliseconds.' })
const modality = z.enum(MODALITIES)
const nextCursor = z.string().nullable().meta({ description: 'The `cursor` of the next page; null on the last page.' })

/** An id with its prefix. */
export const id = (prefix: string) => z.string().regex(new RegExp(`^${prefix}_[0-9a-f]{32}$`))

/** A list, a page at a time. */
export const pageOf = <Row extends z.ZodType>(row: Row) => z.strictObject({ ok, data: z.array(row), nextCursor })

/** A list that is whole. */
export const listOf = <Row extends z.ZodType>(row: Row) => z.strictObject({ ok, data: z.array(row) })

/** An answer without data. */
export const done = z.strictObject({ ok })

/** It is done, with a message for the person. */
export const messageAnswer = z.strictObject({ ok, message: z.string() })

/** The fields of a `conflict` about the catalogue besides its message. */
const CONFLICT = {
  version: z.int().optional().meta({ description: 'For the catalogue: the version that is now current.' }),
  changes: catalogueChanges.optional().meta({ description: 'What differs between it and the expected version.' }),
}

/** An error in its envelope, with its possible codes. */
export function errorSchema(envelope: Envelope, codes: readonly ErrorCode[]): z.ZodType {
  const code = z.enum(codes.map(shownCodeOf) as [ErrorCode, ...ErrorCode[]])
  const message = z.string().meta({ description: 'A sentence for people to read.' })
  if (envelope === 'console') {
    const conflict = codes.includes('conflict') ? CONFLICT : {}
    return z.strictObject({ ok: z.literal(false), error: code, message, ...conflict })
  }
  const resetsAt = time.nullable().meta({
    description: 'For a budget that is spent: when it resets; null for a total budget.',
  })
  const more: Record<string, z.ZodType> = codes.includes('key_budget_exceeded') ? { resetsAt: resetsAt.optional() } : {}
  const param = z.string().nullable().meta({ description: 'The path of the field at fault.' })
  const ofDialect = errorsOf(envelope)
  if (ofDialect) return ofDialect.schema(codes, { message, param, more })
  return z.strictObject({ ok: z.literal(false), error: z.strictObject({ type: code, message, param, code, ...more }) })
}

/** Credits of a price: whole, but for those of a group, which have up to four decimals. */
const rate = z.number().min(0)

/** The price of a chat, or of embeddings. */
export const pricing = z
  .strictObject({
    input: rate,
    output: rate.optional(),
    cachedInput: rate.optional(),
    cacheWrite: rate.optional(),
    perCall: rate.optional(),
    perTokens: z.int(),
    minimum: rate,
  })
  .meta({
    description:
      'Credits for `perTokens` tokens: input, input read from a cache, input written to one (both as `input` if ' +
      'absent), output (not of embeddings); `perCall` is added; at least `minimum` a call. The sum is rounded up. An ' +
      'account in a group sees its own price, with up to four decimals.',
  })

/** The price of a ranking. */
export const searchPricing = z.strictObject({
  perSearch: rate.meta({
    description: 'Credits a search: one query with up to 100 documents; each further hundred is one more.',
  }),
})

/** The price of speech. */
export const speechPricing = z
  .strictObject({ perCharacter: rate, perCharacters: z.int().optional(), minimum: rate.optional() })
  .meta({
    description:
      'Speech: credits for `perCharacters` characters (1 if absent); at least `minimum` a call, if it is stated.',
  })

/** The price of what has `pricing`. */
export const anyPricing = z.union([pricing, searchPricing, speechPricing])

const resolution = z.string().optional()

const prices = z
  .array(
    z.union([
      z.strictObject({ resolution, perSecond: rate }),
      z.strictObject({ resolution, size: z.string().optional(), quality: z.string().optional(), credits: rate }),
    ]),
  )
  .meta({
    description:
      'Media and transcriptions: the first row that fits gives the price, of a picture or of a video; `perSecond` × ' +
      'seconds is rounded up.',
  })

/** A price as its version has it. */
const price = z.union([anyPricing, z.strictObject({ credits: rate }), z.strictObject({ prices })])

const seconds = z.number().gt(0).lte(MAX_SECONDS)

/** What media models offer. */
const options = {
  durations: z
    .union([
      z.array(seconds).min(1),
      z.strictObject({ min: seconds, max: seconds, default: seconds.optional(), step: seconds }),
    ])
    .optional()
    .meta({
      description:
        'Videos: the durations offered, in seconds, if the model states them: a list, or those from `min` in steps ' +
        'of `step` up to `max`.',
    }),
  resolutions: z
    .array(z.string())
    .min(1)
    .optional()
    .meta({ description: 'Images and videos: the resolutions offered, if the model states them.' }),
  sizes: z
    .array(z.string())
    .min(1)
    .optional()
    .meta({ description: 'Images: the sizes offered, if the model states them.' }),
  qualities: z.array(z.string()).min(1).optional().meta({
    description: 'Images: the qualities offered, if the model states them.',
  }),
  maxPromptLength: z
    .int()
    .optional()
    .meta({ description: 'Images: the longest prompt, in characters; 2,000 if absent.' }),
}

/** A model as the console lists it. */
export const model = z
  .strictObject({
    id: z.string(),
    object: z.literal('model'),
    created: z.int(),
    owned_by: z.string(),
    modality,
    credits: z.int().meta({ description: 'The least credits that a call costs.' }),
    priceVersion: id('price').meta({ description: 'The version of the price, for `X-Price-Version`.' }),
    name: z.string().optional(),
    description: z.string().optional(),
    contextLength: z.int().optional().meta({ description: 'Chats: the most tokens of input and output together.' }),
    maxOutputTokens: z.int().optional().meta({
      description: 'Chats: the most output tokens of a choice, if the model states it; more is lowered to it.',
    }),
    defaultOutputTokens: z.int().optional().meta({
      description: 'Chats: the output tokens of a choice where a request names no limit, before what can be paid.',
    }),
    maxDimensions: z.int().optional().meta({
      description: 'Embeddings: the most numbers of a vector, if the model states it.',
    }),
    documentTokens: z.int().optional().meta({
      description:
        'Rankings: the tokens of a document, with the query, that count as one document, if the model states it.',
    }),
    pricing: anyPricing.optional(),
    prices: prices.optional(),
    ...options,
  })
  .meta({ id: 'Model' })

/** The models as the console lists them. */
export const modelList = z.strictObject({ ok, object: z.literal('list'), data: z.array(model) })

/** How long calls took. */
export const latency = {
  calls: z.int().meta({ description: 'How many calls the figures are of.' }),
  p50Ms: z.int().meta({ description: 'The median, in milliseconds.' }),
  p95Ms: z.int().meta({ description: 'The 95th percentile, in milliseconds.' }),
}

/** A stream of server-sent events. */
export const events = (description: string) => z.string().meta({ description })

/** An account as its owner sees it. */
export const user = z
  .strictObject({
    id: id('acc'),
    email: z.string(),
    displayName: z.string(),
    avatarUrl: z.string(),
    language: z.enum(LANGUAGE_TAGS).meta({ description: 'Of mails to them.' }),
    credits,
    emailVerified: z.boolean(),
    createdAt: time,
  })
  .meta({ id: 'User' })

/** A user. */
export const userAnswer = z.strictObject({ ok, user })

/** A user and their new session. */
export const signedIn = z.strictObject({
  ok,
  token: z.string().meta({ description: 'The session token, valid for 7 days.' }),
  user,
})

const tokens = z.int().nullable()

/** The record of a call. */
export const call = z
  .strictObject({
    id: id('call'),
    model: z.string().meta({ description: 'Of a list of models the one that answered, or was asked last.' }),
    requested: z.string().meta({ description: 'The model that was asked first.' }),
    modality,
    dialect: z.enum(DIALECTS).nullable().meta({
      description:
        'The API that a chat was asked in, and is answered in: `chat` is chat completions. null for other kinds.',
    }),
    status: z.enum(CALL_STATUSES),
    httpStatus: z.int().nullable(),
    errorType: z.string().nullable(),
    credits: z.int().meta({ description: 'Credits charged so far; once the call has ended, what it cost.' }),
    creditsPrecharged: z.int().meta({ description: 'Credits charged when the call opened.' }),
    creditsUncollected: z.int().meta({ description: 'Credits that the balance could not cover.' }),
    inputTokens: tokens.meta({ description: 'All input tokens, cached ones included.' }),
    cachedInputTokens: tokens.meta({ description: 'The part of the input that was read from a cache.' }),
    cacheWriteTokens: tokens.meta({ description: 'The part of the input that was written to a cache.' }),
    outputTokens: tokens,
    price: price.nullable().meta({ description: 'The price at which the call was opened; null if it was refused.' }),
    priceVersion: id('price').nullable(),
    latencyMs: z.int().nullable(),
    upstream: z.string().nullable(),
    attempts: z.int(),
    session: z.enum(SESSION_USES).nullable().meta({
      description: 'Of a chat with a session: `hit`, what served it before; `new`; `moved`, another upstream or key.',
    }),
    keyId: id('key'),
    memberId: id('usr').meta({ description: 'The member whose key that is.' }),
    resultUrl: z.string().nullable().meta({ description: 'The address of the result, or of the first picture.' }),
    resultUrls: z.array(z.string()).meta({ description: 'The addresses of all results.' }),
    pictures: z.int().nullable().meta({ description: 'Images: how many pictures were delivered.' }),
    createdAt: time,
    finishedAt: time.nullable(),
    count: z.int().meta({ description: 'How many equal refusals within a minute this record combines; otherwise 1.' }),
  })
  .meta({ id: 'CallRecord' })

/** A movement of credits. */
export const entry = z
  .strictObject({
    id: z.string().meta({ description: 'Unique within the account.' }),
    callId: id('call').nullable(),
    kind: z.enum(ENTRY_KINDS),
    amount: z.int().meta({ description: 'Signed credits; negative amounts leave the balance.' }),
    balanceAfter: z.int().meta({ description: 'The balance after this entry.' }),
    origin: z.enum(ORIGINS),
    grantId: id('grant'),
    createdAt: time,
    note: z.string().nullable(),
  })
  .meta({ id: 'LedgerEntry' })

/** A call with its ledger entries. */
export const callWithLedger = z.strictObject({
  ok,
  call,
  receipt,
  measured,
  startedAt: time.nullable().meta({ description: 'When a worker began it.' }),
  ledger: z.array(entry),
})

/** A grant. */
export const grant = z
  .strictObject({
    id: id('grant'),
    origin: z.enum(ORIGINS),
    amount: credits,
    remaining: credits,
    expiresAt: time.nullable(),
    createdAt: time,
  })
  .meta({ id: 'Grant' })

/** What an account may do. */
export const role = z.enum(['user', 'admin'])

/** What an account has, in credits, and what it is doing. */
export const accountState = z.strictObject({
  buying: z
    .strictObject({
      provider: z.enum(['stripe']).nullable(),
      help: z.string().nullable(),
      rate: z
        .strictObject({ currency: z.string(), creditsPer: credits, perMinor: z.int() })
        .nullable()
        .meta({ description: 'The price of credits; null if none are sold.' }),
    })
    .meta({ description: 'Who takes payments, and the sentence or address of CREDITS_HELP_URL.' }),
  localMails: z.boolean().meta({ description: 'Mails reach nobody: they can be read at /dev/mail on the machine.' }),
  ok,
  user,
  role,
  credits,
  held: z.int().meta({ description: 'Credits held by open calls, which may give part of them back.' }),
  running: z.int().meta({ description: 'Calls that are queued or running.' }),
  debt: z.int().meta({
    description:
      'Credits that past calls left uncollected. The next credits repay them; until then calls are refused with 402 ' +
      '`insufficient_credits`.',
  }),
})
