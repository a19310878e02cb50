import { expect } from 'chai'
import { embeddingKind } from '../../../src/api/v1/embeddings.ts'
import { moderationKind } from '../../../src/api/v1/moderations.ts'
import { rerankKind } from '../../../src/api/v1/rerank.ts'
import { speechKind } from '../../../src/api/v1/audio/speech.ts'
import type { CallKind } from '../../../src/api/v1/calls/serve-call.ts'
import type { Model } from '../../../src/shared/catalogue/catalogue.ts'
import { OK, modelsWith, verdict } from './support/parsing.ts'

type Fields = Record<string, unknown>

const MODELS = modelsWith(({ models }) => {
  const like = (id: string, more: object) => models.push({ ...models.find((one) => one.id === id), ...more })
  const at = (model: string, drop: string) => [{ upstream: 'sandbox', model, drop: [drop] }]
  like('sandbox-embedding', { id: 'fixed', upstreams: at('embedding-sandbox', 'dimensions') })
  like('sandbox-embedding', { id: 'stated', maxDimensions: 1000 })
  like('sandbox-speech', { id: 'plain', upstreams: at('speech-sandbox', 'speed') })
})

const many = <T>(length: number, one: T): T[] => Array.from({ length }, () => one)
const picture = (url: string) => ({ input: [{ type: 'image_url', image_url: { url } }] })

type Refused = [what: string, fields: Fields, param: string]

/** Calls by their model: a good body, fields that may be null or unknown, and what is refused. */
const CALLS: Record<string, { kind: unknown; good: Fields; nulls: string; refused: Refused[] }> = {
  'sandbox-embedding': {
    kind: embeddingKind,
    good: { input: 'a' },
    nulls: 'dimensions encoding_format user input_type',
    refused: [
      ['no input', { input: undefined }, 'input'],
      ['an empty text', { input: '' }, 'input'],
      ['an empty list', { input: [] }, 'input'],
      ['an empty text in a list', { input: ['a', ''] }, 'input'],
      ['an empty list of tokens', { input: [[1], []] }, 'input'],
      ['texts and tokens together', { input: ['a', [1]] }, 'input'],
      ['tokens and texts together', { input: [1, 'a'] }, 'input'],
      ['a token that is none', { input: [1.5] }, 'input'],
      ['a token below zero', { input: [[-1]] }, 'input'],
      ['an object', { input: { text: 'a' } }, 'input'],
      ['more than 2,048 texts', { input: many(2049, 'a') }, 'input'],
      ['more than 500,000 tokens', { input: many(500_001, 1) }, 'input'],
      ['an unknown form', { encoding_format: 'ubinary' }, 'encoding_format'],
      ['no dimensions', { dimensions: 0 }, 'dimensions'],
      ['half a dimension', { dimensions: 1.5 }, 'dimensions'],
      ['a field that is unknown', { input_type: 'query' }, 'input_type'],
      ['a user that is no text', { user: {} }, 'user'],
      ['more dimensions than the model has', { model: 'stated', dimensions: 1001 }, 'dimensions'],
      ['dimensions of a model that has one length only', { model: 'fixed', dimensions: 4 }, 'dimensions'],
      ['more numbers than an answer takes', { input: many(900, 'a') }, 'input'],
    ],
  },
  'sandbox-moderation': {
    kind: moderationKind,
    good: { input: 'a' },
    nulls: 'user',
    refused: [
      ['no input', { input: undefined }, 'input'],
      ['an empty text', { input: '' }, 'input'],
      ['an empty list', { input: [] }, 'input'],
      ['an empty text in a list', { input: ['a', ''] }, 'input[1]'],
      ['a number', { input: 7 }, 'input'],
      ['an object', { input: { text: 'a' } }, 'input'],
      ['texts and parts together', { input: ['a', { type: 'text', text: 'a' }] }, 'input[1]'],
      ['a part of another kind', { input: [{ type: 'file', file: {} }] }, 'input[0].type'],
      ['a part with a field that is unknown', { input: [{ type: 'text', text: 'a', url: 'b' }] }, 'input[0].url'],
      ['more than 100 texts', { input: many(101, 'a') }, 'input'],
      ['a field that is unknown', { user: 'a' }, 'user'],
      ['a private address', picture('http://127.0.0.1/a.png'), 'input[0].image_url.url'],
      ['an address of a cloud', picture('http://169.254.169.254/'), 'input[0].image_url.url'],
      ['a picture that is none', picture('data:text/html;base64,aGk='), 'input[0].image_url.url'],
    ],
  },
  'sandbox-rerank': {
    kind: rerankKind,
    good: { query: 'a', documents: ['a'] },
    nulls: 'top_n return_documents rank_fields',
    refused: [
      ['no query', { query: undefined }, 'query'],
      ['an empty query', { query: '' }, 'query'],
      ['a query that is no text', { query: ['a'] }, 'query'],
      ['no documents', { documents: undefined }, 'documents'],
      ['an empty list', { documents: [] }, 'documents'],
      ['a text in place of the list', { documents: 'a' }, 'documents'],
      ['an empty document', { documents: ['a', ''] }, 'documents[1]'],
      ['a number', { documents: [7] }, 'documents[0]'],
      ['an object without a text', { documents: [{}] }, 'documents[0].text'],
      ['an object with more than its text', { documents: ['a', { text: 'b', image: 'c' }] }, 'documents[1].image'],
      ['more than 10,000 documents', { documents: many(10_001, 'a') }, 'documents'],
      ['none of the best', { top_n: 0 }, 'top_n'],
      ['half of the best', { top_n: 1.5 }, 'top_n'],
      ['no tokens of a document', { max_tokens_per_doc: 0 }, 'max_tokens_per_doc'],
      ['a word in place of a flag', { return_documents: 'yes' }, 'return_documents'],
      ['a field that is unknown', { rank_fields: ['title'] }, 'rank_fields'],
    ],
  },
  'sandbox-speech': {
    kind: speechKind,
    good: { input: 'Hello', voice: { id: 'alloy' } },
    nulls: 'speed language',
    refused: [
      ['no text', { input: undefined }, 'input'],
      ['an empty text', { input: ' ' }, 'input'],
      ['more than 4,096 characters', { input: 'x'.repeat(4097) }, 'input'],
      ['no voice', { voice: undefined }, 'voice'],
      ['a voice that is none', { voice: { name: 'x' } }, 'voice'],
      ['a speed beyond 4', { speed: 5 }, 'speed'],
      ['events', { stream_format: 'sse' }, 'stream_format'],
      ['a form that it does not have', { response_format: 'midi' }, 'response_format'],
      ['a field that it does not know', { n: 2 }, 'n'],
      ['a speed that no upstream would be sent', { model: 'plain', speed: 2 }, 'speed'],
    ],
  },
}

describe('the fields of a call that is neither a chat nor makes pictures', () => {
  for (const [id, { kind, good, nulls, refused }] of Object.entries(CALLS)) {
    const verdictOn = (fields: Fields): string => {
      const body = { model: id, ...good, ...fields }
      return verdict(() => (kind as CallKind<Model, never>).parse(body, MODELS.get(body.model)!, {}))
    }
    for (const [what, fields, param] of refused)
      it(`of ${id} are refused by name: ${what}`, () => expect(verdictOn(fields)).to.equal(`invalid_request ${param}`))

    it(`of ${id} may be null where they are optional or unknown, as if absent`, () =>
      expect(verdictOn(Object.fromEntries(nulls.split(' ').map((name) => [name, null])))).to.equal(OK))
  }
})
