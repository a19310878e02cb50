import { expect } from 'chai'
import type { Route } from '../../../src/shared/catalogue/catalogue.ts'
import { UpstreamError } from '../../../src/workers/upstreams/adapter.ts'
import { statusFailure } from '../../../src/workers/upstreams/failures.ts'
import { quotedWords, storedWords } from '../../../src/workers/upstreams/quoted-words.ts'

const KEY = 'house-key'
const ROUTE = { model: 'claude-opus-5-5-eu', upstream: { apiKey: KEY } } as Route
const ABOUT = {
  request: { messages: [{ role: 'user', content: 'see https://example.com/a.png and toolu_01AbCdEfGhIjKlMnOp' }] },
  betas: ['context-management-2025-06-27'],
  model: 'opus',
}

const told = (message: string, status = 400): string | null =>
  quotedWords(
    statusFailure(status, {}, JSON.stringify({ error: { type: 'invalid_request_error', message } })),
    ROUTE,
    ABOUT,
  )

describe("an upstream's words about a request", () => {
  for (const sentence of [
    'context_management: Extra inputs are not permitted',
    "messages.1.role: Input should be 'user' or 'assistant'",
    'max_tokens: 128000 > 8192, which is the maximum allowed number of output tokens for opus',
    'input length and `max_tokens` exceed context limit: 20000 + 128000 > 131072, decrease input length',
    'prompt is too long: 210000 tokens > 200000 maximum',
    'Unexpected value(s) `context-management-2025-06-27` for the `anthropic-beta` header.',
    'tools.10.custom.input_schema.properties.a: JSON schema is invalid',
    "tools.0: Input tag 'x' found using 'type' does not match: 'bash_20250124', 'text_editor_20250728'",
    'messages.2: `tool_use` ids were found without `tool_result` blocks: toolu_01AbCdEfGhIjKlMnOp',
    'Could not fetch https://example.com/a.png',
    'thinking.enabled.budget_tokens: Input should be greater than or equal to 1024',
  ]) {
    it(`stay as they are, so that a client can mend its request: ${sentence}`, () => {
      expect(told(sentence)).to.equal(sentence)
    })
  }

  for (const [what, sentence, wanted] of [
    ['a key', 'Wrong x-api-key: sk-ant-api03-AAAA for it', 'Wrong x-api-key: […] for it'],
    ["the operator's key", `The key ${KEY} may not do this`, 'The key […] may not do this'],
    ['an address', 'POST https://eu.vendor.example/v1/x?key=1 failed', 'POST […] failed'],
    ['the name of a host', 'upstream api.vendor.com/v1 and db.internal:5432 said no', 'upstream […] and […] said no'],
    ['an address in a network', 'at 10.0.0.5:8000 or vllm:8000 or [fd00::1:2:3]:80', 'at […] or […] or […]'],
    ['an e-mail address', 'ask jane.doe@acme.example', 'ask […]'],
    ['an organisation', "organization 'acme corp' has disabled it", 'organization […] has disabled it'],
    [
      'an organisation that is not quoted',
      'Organization Acme Corp has disabled it',
      'Organization […] has disabled it',
    ],
    ['the id of an account', 'for org-a1b2c3 in account_id "77"', 'for […] in account_id […]'],
    ['a number of a request', 'see 0b7d7c3e-8f1a-4e9e-9d55-0a1b2c3d4e5f', 'see […]'],
    ['the name of the model', 'tokens for claude-opus-5-5-eu.', 'tokens for opus.'],
  ] as const) {
    it(`lose ${what} that the client has not written`, () => {
      expect(told(sentence)).to.equal(wanted)
    })
  }

  it('are bounded, and not cut in the middle of a word', () => {
    const words = told(`${'word '.repeat(55)}and the long-secret-of-somebody-at-the-end-of-it, which goes on and on`)!
    expect(words.length).to.be.at.most(301)
    expect(words.endsWith(' …')).to.equal(true)
  })

  it('are not told where they are no sentence, or speak of something else than the request', () => {
    expect(quotedWords(statusFailure(400, {}, '<html>Bad Request</html>'), ROUTE, ABOUT)).to.equal(null)
    expect(quotedWords(statusFailure(400, {}, '{"odd": {"form": 1}}'), ROUTE, ABOUT)).to.equal(null)
    expect(told('Your credit balance is too low')).to.equal(null)
    expect(told('model not found', 404)).to.equal(null)
    expect(told('slow down', 429)).to.equal(null)
    expect(told('internal', 500)).to.equal(null)
    expect(quotedWords(new UpstreamError('rejected', 'a sentence of our own'), ROUTE, ABOUT)).to.equal(null)
  })
})

describe('a failure that is stored for operators', () => {
  const route = {
    upstream: { keys: [{ secret: 'house-key' }], headers: { 'x-team': 'the-team-secret' } },
  } as unknown as Route
  const request = { messages: [{ role: 'user', content: 'draw a lighthouse on the cliff, MARK-7' }] }
  const STORED: [said: string, stored: string][] = [
    ['the server is busy', 'rejected: the server is busy'],
    ['key house-key of team the-team-secret, sk-proj-abcdefgh', 'rejected: key […] of team […], […]'],
    ["invalid value 'MARK-7' in content", "rejected: invalid value '[…]' in content"],
    [`{"detail":"cannot draw 'MARK-7'"}`, `rejected: {"detail":"cannot draw '[…]'"}`],
    ['refused: a lighthouse on the cliff, sorry', 'rejected: refused: […] […] […] […] […] sorry'],
  ]
  for (const [said, stored] of STORED)
    it(`has neither keys nor what it quotes of the request: ${said}`, () =>
      expect(storedWords(new UpstreamError('rejected', 'x', { said }), route, request)).to.equal(stored))
})
