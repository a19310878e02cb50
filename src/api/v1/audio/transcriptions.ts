/**
 * POST /v1/audio/transcriptions and POST /v1/audio/translations.
 */
import { z } from 'zod'
import type { Principal } from '../../../shared/identity/key-lookup.ts'
import type { TranscriptionModel } from '../../../shared/catalogue/catalogue.ts'
import { isLeftOut } from '../../../shared/catalogue/route-rules.ts'
import { fieldRefusal } from '../../../shared/platform/field-errors.ts'
import { optional } from '../../../shared/requests/field-schemas.ts'
import { mediaCost } from '../../../shared/terms/pricing.ts'
import type { TranscriptionRequest } from '../../../shared/requests/transcriptions.ts'
import { MAX_SOUND, TRANSCRIPT_FORMATS } from '../../../shared/requests/transcriptions.ts'
import type { Sound } from '../../../shared/media-files/reader.ts'
import { NoSound, SOUND_KINDS } from '../../../shared/media-files/reader.ts'
import type { WebDeps } from '../../deps.ts'
import { ok } from '../../endpoint/answer-schemas.ts'
import type { DeclaredForm } from '../../forms/declared-form.ts'
import { formBoolean, formFile, formNumber } from '../../forms/declared-form.ts'
import { FormFile } from '../../forms/form-file.ts'
import type { JsonObject } from '../../middleware/json-body.ts'
import { answerWhenDone } from '../calls/answer-call.ts'
import { modelId } from '../calls/call-schemas.ts'
import { parseBody } from '../../../shared/requests/parse-body.ts'
import type { CallKind } from '../calls/serve-call.ts'
import { callEndpoint } from '../calls/serve-call.ts'
import { accepted, paidHeaders, placesCalls } from '../declared.ts'
import { TRANSCRIPT_TYPES, sendTranscript } from './sent-transcript.ts'

const form: DeclaredForm = {
  files: { file: { most: 1, maxBytes: MAX_SOUND.bytes } },
  maxFileBytes: MAX_SOUND.bytes,
  lists: ['timestamp_granularities'],
}

const MAX_PROMPT = 2000

const format = optional(z.enum(TRANSCRIPT_FORMATS)).meta({ description: '`json` if absent.' })

const common = {
  file: formFile.meta({ description: 'WAV, MP3, Ogg, FLAC, M4A or WebM: at most 25 MB and 4 hours.' }),
  model: modelId,
  prompt: optional(z.string().max(MAX_PROMPT)).meta({ description: 'Words that help to understand it.' }),
  response_format: format,
  temperature: optional(formNumber(z.number().min(0).max(1))),
}

const translationBody = z.strictObject(common).meta({ id: 'TranslationRequest' })

const transcriptionBody = z
  .strictObject({
    ...common,
    language: optional(z.string().min(1).max(35)).meta({ description: 'The language that is spoken, such as `en`.' }),
    timestamp_granularities: optional(z.array(z.enum(['word', 'segment'])).max(2)).meta({
      description: 'With `verbose_json`: whose times it has. The name may have brackets.',
    }),
    stream: optional(formBoolean.pipe(z.literal(false, 'must be false: transcripts are not streamed'))),
  })
  .meta({ id: 'TranscriptionRequest' })

type AskedTranscript = { request: TranscriptionRequest; estimate: null; charge: number; sort: string }

/** Where a body has what was measured of its file: a name that no form can have. */
const MEASURED = Symbol('measured')

type Measured = JsonObject & { [MEASURED]?: Sound | NoSound }

/** Measures the file of a body, for `parseWith`. A tag in front of its audio was not measured, and is not sent on. */
async function measure(
  { measuring }: Pick<WebDeps, 'measuring'>,
  body: JsonObject,
  { accountId }: Principal,
): Promise<Measured> {
  const { file } = body
  if (!(file instanceof FormFile)) return body
  const sound = await measuring.measure(accountId, file.opened()).catch((error: unknown) => {
    if (error instanceof NoSound) return error
    throw error
  })
  if (!(sound instanceof NoSound)) file.skip(sound.from)
  return { ...body, [MEASURED]: sound }
}

/** Parses a form, and finds its price: that of the seconds which were measured. */
const parseWith =
  (schema: typeof transcriptionBody | typeof translationBody, task: TranscriptionRequest['task']) =>
  (body: Measured, model: TranscriptionModel): AskedTranscript => {
    const { model: _model, file: _file, response_format: format = 'json', ...asked } = parseBody(schema, body, [])
    const { stream: _stream, ...options } = { stream: false, ...asked }
    if ('timestamp_granularities' in options && format !== 'verbose_json')
      throw fieldRefusal('timestamp_granularities', 'needs "response_format" to be verbose_json')
    requireSent(Object.keys(definedOf(options)), model)
    const { seconds, kind } = soundOf(body)
    const { extension, type } = SOUND_KINDS[kind]
    const file = { name: `audio.${extension}`, type }
    const request: TranscriptionRequest = { ...definedOf(options), task, format, seconds, file }
    return { request, estimate: null, charge: chargeFor(model, seconds), sort: task }
  }

/** What an upstream would not be sent must not be asked for in vain. */
function requireSent(fields: readonly string[], model: TranscriptionModel): void {
  for (const field of fields) {
    const isTaken = field !== 'timestamp_granularities' || model.upstreams.every(hasTimes)
    if (!isTaken || isLeftOut(field, model)) throw fieldRefusal(field, 'is not taken by this model')
  }
}

/** Whether an upstream can be asked for the times of words and segments. */
const hasTimes = ({ drop, set }: TranscriptionModel['upstreams'][number]): boolean =>
  !drop.includes('response_format') && (set.response_format ?? 'verbose_json') === 'verbose_json'

const definedOf = (fields: object): object =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null))

/** The kind of the file and its whole seconds. @throws ApiError invalid_request */
function soundOf({ [MEASURED]: sound }: Measured): { seconds: number; kind: Sound['kind'] } {
  if (!sound || sound instanceof NoSound) throw fieldRefusal('file', sound?.message ?? 'is required')
  const seconds = Math.max(1, Math.ceil(sound.seconds))
  if (seconds > MAX_SOUND.seconds) throw fieldRefusal('file', 'must be at most 4 hours of sound')
  return { seconds, kind: sound.kind }
}

/** What a number of seconds costs. */
export const chargeFor = ({ price }: Pick<TranscriptionModel, 'price'>, seconds: number): number =>
  mediaCost(price, { duration: seconds })!

const kindWith = (
  schema: typeof transcriptionBody | typeof translationBody,
  task: TranscriptionRequest['task'],
): CallKind<TranscriptionModel, AskedTranscript> => ({
  modality: 'transcription',
  parse: parseWith(schema, task),
  resolve: measure,
  answer: (ctx, deps, placed, { request }) =>
    request.format in TRANSCRIPT_TYPES
      ? answerWhenDone(ctx, deps, placed, { send: sendTranscript })
      : answerWhenDone(ctx, deps, placed),
})

/** A transcript as JSON. */
export const transcriptResult = z
  .looseObject({
    ok,
    text: z.string(),
    usage: z.strictObject({
      type: z.literal('duration'),
      seconds: z.int().meta({ description: 'The seconds that were charged.' }),
      credits: z.int().meta({ description: 'Credits charged.' }),
      balance: z.int().meta({ description: 'Credits left.' }),
    }),
  })
  .meta({
    id: 'Transcript',
    description: '`verbose_json` has language, duration, segments and words in addition to the text.',
  })

const declared = {
  ...placesCalls,
  description:
    'A form (`multipart/form-data`). Charged by the whole seconds that the file lasts, which are counted and not ' +
    'taken from its head, before it is sent on. `text`, `srt` and `vtt` tell credits and balance in headers.',
  form,
  answers: {
    200: {
      description: 'The transcript.',
      schema: transcriptResult,
      content: { 'text/plain': z.string(), 'text/vtt': z.string() },
      headers: paidHeaders,
    },
    202: accepted,
  },
} as const

/** Transcribes a file of sound. */
export const createTranscription = callEndpoint(
  { ...declared, path: '/v1/audio/transcriptions', summary: 'Transcribe speech', body: transcriptionBody },
  kindWith(transcriptionBody, 'transcribe'),
)

/** Transcribes a file of sound into English. */
export const createTranslation = callEndpoint(
  { ...declared, path: '/v1/audio/translations', summary: 'Translate speech into English', body: translationBody },
  kindWith(translationBody, 'translate'),
)
