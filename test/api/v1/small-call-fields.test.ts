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

type Call = {
  kind: unknown
  good: Fields
  /** Fields that may be null or unknown. */
  nulls: string
  /** The name that a refusal has, and in JSON what is refused in its field; null is a field that is not there. */
  refused: string
  /** What is too long for a line, or of another model. */
  more: [what: string, fields: Fields, param: string][]
}

/** Calls by their model. */
const CALLS: Record<string, Call> = {
  'sandbox-embedding': {
    kind: embeddingKind,
    good: { input: 'a' },
    nulls: 'dimensions encoding_format user input_type',
    refused: `
input           | null, "", [], ["a", ""], [[1], []], ["a", [1]], [1, "a"], [1.5], [[-1]], {"text": "a"}
encoding_format | "ubinary"
dimensions      | 0, 1.5
input_type      | "query"
user            | {}`,
    more: [
      ['more than 2,048 texts', { input: many(2049, 'a') }, 'input'],
      ['more than 500,000 tokens', { input: many(500_001, 1) }, 'input'],
      ['more dimensions than the model has', { model: 'stated', dimensions: 1001 }, 'dimensions'],
      ['dimensions of a model that has one length only', { model: 'fixed', dimensions: 4 }, 'dimensions'],
      ['more numbers than an answer takes', { input: many(900, 'a') }, 'input'],
    ],
  },
  'sandbox-moderation': {
    kind: moderationKind,
    good: { input: 'a' },
    nulls: 'user',
    refused: `
input                  | null, "", [], 7, {"text": "a"}
input[1]               | ["a", ""], ["a", {"type": "text", "text": "a"}]
input[0].type          | [{"type": "file", "file": {}}]
input[0].url           | [{"type": "text", "text": "a", "url": "b"}]
user                   | "a"
input[0].image_url.url | [{"type": "image_url", "image_url": {"url": "http://127.0.0.1/a.png"}}]
input[0].image_url.url | [{"type": "image_url", "image_url": {"url": "http://169.254.169.254/"}}]
input[0].image_url.url | [{"type": "image_url", "image_url": {"url": "data:text/html;base64,aGk="}}]`,
    more: [['more than 100 texts', { input: many(101, 'a') }, 'input']],
  },
  'sandbox-rerank': {
    kind: rerankKind,
    good: { query: 'a', documents: ['a'] },
    nulls: 'top_n return_documents rank_fields',
    refused: `
query              | null, "", ["a"]
documents          | null, [], "a"
documents[1]       | ["a", ""]
documents[0]       | [7]
documents[0].text  | [{}]
documents[1].image | ["a", {"text": "b", "image": "c"}]
top_n              | 0, 1.5
max_tokens_per_doc | 0
return_documents   | "yes"
rank_fields        | ["title"]`,
    more: [['more than 10,000 documents', { documents: many(10_001, 'a') }, 'documents']],
  },
  'sandbox-speech': {
    kind: speechKind,
    good: { input: 'Hello', voice: { id: 'alloy' } },
    nulls: 'speed language',
    refused: `
input           | null, " "
voice           | null, {"name": "x"}
speed           | 5
stream_format   | "sse"
response_format | "midi"
n               | 2`,
    more: [
      ['more than 4,096 characters', { input: 'x'.repeat(4097) }, 'input'],
      ['a speed that no upstream would be sent', { model: 'plain', speed: 2 }, 'speed'],
    ],
  },
}

describe('the fields of a call that is neither a chat nor makes pictures', () => {
  for (const [id, { kind, good, nulls, refused, more }] of Object.entries(CALLS)) {
    const verdictOn = (fields: Fields): string => {
      const body = { model: id, ...good, ...fields }
      return verdict(() => (kind as CallKind<Model, never>).parse(body, MODELS.get(body.model)!, {}))
    }
    for (const row of refused.trim().split('\n')) {
      const [param, values] = row.split('|').map((cell) => cell.trim()) as [string, string]
      it(`of ${id} are refused by name: ${param} of ${values}`, () => {
        const [field] = param.split(/[.[]/) as [string]
        for (const value of JSON.parse(`[${values}]`) as unknown[])
          expect(verdictOn({ [field]: value ?? undefined })).to.equal(`invalid_request ${param}`)
      })
    }
    for (const [what, fields, param] of more)
      it(`of ${id} are refused by name: ${what}`, () => expect(verdictOn(fields)).to.equal(`invalid_request ${param}`))

    it(`of ${id} may be null where they are optional or unknown, as if absent`, () =>
      expect(verdictOn(Object.fromEntries(nulls.split(' ').map((name) => [name, null])))).to.equal(OK))
  }
})
