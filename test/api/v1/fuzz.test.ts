import { expect } from 'chai'
import fc from 'fast-check'
import { startGateway } from '../../../scripts/harness/harness.ts'
import {
  CHAT,
  EMBEDDINGS,
  IMAGES,
  MODERATIONS,
  OPENAI_VIDEOS,
  RERANK,
  VIDEOS,
} from '../../../scripts/harness/calling.ts'
import type { Answered } from './support/floods.ts'
import { fuzz } from './support/fuzzing.ts'
import type { Sending } from './support/random-requests.ts'
import { mostly, nasty, sendingOf, spoilt, word } from './support/random-requests.ts'

const KEYS = [
  'model',
  'messages',
  'prompt',
  'image_url',
  'resolution',
  'duration',
  'seconds',
  'size',
  'input_reference',
  'input_reference[image_url]',
  'max_tokens',
  'max_completion_tokens',
  'temperature',
  'n',
  'stream',
  'stream_options',
  'tools',
  '__proto__',
  'constructor',
  'toString',
  'user',
  'response_format',
  'input',
  'query',
  'documents',
  'top_n',
  'encoding_format',
  '',
  '\0',
]

const message = mostly(
  fc.record({ role: mostly(fc.constantFrom('user', 'system'), word), content: mostly(word, nasty) }),
  nasty,
  20,
)
/** A text that is not empty. */
const text = word.map((one) => `${one} .`)
const part = fc.record({ type: mostly(fc.constant('text'), nasty), text: mostly(text, nasty) })
const RESOLUTIONS = ['16x16', '720p']
const media = {
  prompt: mostly(text, nasty),
  resolution: fc.constantFrom(...RESOLUTIONS),
}
const FIELDS: Record<string, fc.Arbitrary<object>> = {
  [CHAT]: fc.record(
    {
      model: mostly(
        fc.constantFrom('sandbox-chat', 'dear-chat', 'fallback-chat'),
        fc.constantFrom('sandbox-image', 'nothing'),
      ),
      messages: fc.array(message, { minLength: 1, maxLength: 3 }),
      max_tokens: mostly(fc.integer({ min: 1, max: 50 }), nasty),
      n: mostly(fc.integer({ min: 1, max: 8 }), nasty),
      stream: fc.boolean(),
    },
    { requiredKeys: ['model', 'messages'] },
  ),
  [IMAGES]: fc.record(
    {
      model: mostly(
        fc.constantFrom('sandbox-image', 'fallback-image'),
        fc.constantFrom('unavailable-image', 'disabled-image', 'sandbox-chat'),
      ),
      ...media,
    },
    { requiredKeys: ['model', 'prompt'] },
  ),
  [VIDEOS]: fc.record(
    {
      model: mostly(fc.constantFrom('unavailable-video', 'disabled-image'), fc.constant('sandbox-video'), 4),
      ...media,
      duration: mostly(fc.constant(1), nasty),
    },
    { requiredKeys: ['model', 'prompt'] },
  ),
  [OPENAI_VIDEOS]: fc.record(
    {
      model: mostly(fc.constantFrom('unavailable-video', 'disabled-image'), fc.constant('sandbox-video'), 4),
      prompt: media.prompt,
      seconds: mostly(fc.constantFrom('1', 1), nasty),
      size: mostly(fc.constant('1280x720'), nasty),
      input_reference: mostly(fc.constant(null), fc.oneof(nasty, fc.record({ image_url: nasty }))),
    },
    { requiredKeys: ['model', 'prompt'] },
  ),
  [EMBEDDINGS]: fc.record(
    {
      model: mostly(fc.constant('sandbox-embedding'), fc.constantFrom('sandbox-chat', 'nothing')),
      input: mostly(fc.oneof(text, fc.array(text, { minLength: 1, maxLength: 3 })), nasty),
      encoding_format: mostly(fc.constantFrom('float', 'base64'), nasty),
      dimensions: mostly(fc.integer({ min: 1, max: 50 }), nasty),
    },
    { requiredKeys: ['model', 'input'] },
  ),
  [MODERATIONS]: fc.record(
    {
      model: mostly(fc.constant('sandbox-moderation'), fc.constantFrom('sandbox-rerank', 'nothing')),
      input: mostly(fc.oneof(text, fc.array(mostly(text, part), { minLength: 1, maxLength: 3 })), nasty),
    },
    { requiredKeys: ['input'] },
  ),
  [RERANK]: fc.record(
    {
      model: mostly(fc.constant('sandbox-rerank'), fc.constantFrom('sandbox-moderation', 'nothing')),
      query: mostly(text, nasty),
      documents: mostly(fc.array(mostly(text, nasty), { minLength: 1, maxLength: 3 }), nasty),
      top_n: mostly(fc.integer({ min: 1, max: 5 }), nasty),
      return_documents: fc.boolean(),
    },
    { requiredKeys: ['model', 'query', 'documents'] },
  ),
}
const odd = fc.constantFrom(
  '/v1/models',
  '/v1/calls/x',
  '/v1/calls/call_%00',
  '/v1',
  '/v1/chat//completions',
  '/v1/calls/%zz?wait=1&wait=2',
  '/v1/images/generations/',
)

const sending: fc.Arbitrary<Sending> = mostly(
  fc.constantFrom(CHAT, CHAT, IMAGES, IMAGES, VIDEOS, OPENAI_VIDEOS, EMBEDDINGS, MODERATIONS, RERANK),
  odd,
).chain((path) => sendingOf(path, spoilt(FIELDS[path] ?? FIELDS[CHAT]!, KEYS)))

/** The statuses that a request can get, whatever is wrong with it. */
const ALLOWED = new Set([200, 202, 400, 401, 402, 404, 405, 410, 413, 415, 417, 422, 429])

const isPutOff = ({ status, retryAfter, json }: Answered): boolean =>
  status === 503 && json?.error?.type === 'service_unavailable' && /^\d+$/.test(retryAfter ?? '')

function check({ status, text, json }: Answered, about: string): void {
  if (status === 502) expect(json?.error?.type, about).to.equal('upstream_failed')
  else if (status === 503) expect(json?.error?.type, about).to.equal('upstream_unavailable')
  else expect(ALLOWED.has(status), `${status} ${text} to ${about}`).to.equal(true)
}

fuzz('requests', {
  start: () =>
    startGateway({}, ({ models }) => {
      models.push({
        id: 'unavailable-video',
        modality: 'video',
        credits: 250,
        upstreams: [{ upstream: 'unconfigured', model: 'video-sandbox' }],
      })
      for (const model of models)
        if (model.modality === 'image' || model.modality === 'video') model.resolutions = RESOLUTIONS
    }),
  sending,
  isPutOff,
  check,
  statuses: [200, 202, 400, 401, 415, 503],
})
