import { expect } from 'chai'
import type { Route } from '../../../src/shared/catalogue/catalogue.ts'
import { UpstreamError } from '../../../src/workers/upstreams/adapter.ts'
import { statusFailure } from '../../../src/workers/upstreams/failures.ts'
import { blocksIn } from '../../support/blocks.ts'
import { quotedWords, storedWords } from '../../../src/workers/upstreams/quoted-words.ts'

const KEY = 'house-key'
const ROUTE = { model: 'claude-opus-5-5-eu', upstream: { apiKey: KEY } } as Route
const ABOUT = {
  request: { messages: [{ role: 'user', content: 'see https://example.com/a.png and toolu_01AbCdEfGhIjKlMnOp' }] },
  betas: ['context-management-2025-06-27'],
  model: 'opus',
}

/** Sentences of upstreams: those that stay, and what becomes of others, by what they lose. */
const WORDS = blocksIn('test/upstreams/recorded/words.txt')
const KEPT = WORDS.find(({ head }) => head === 'kept')!.lines
const LOST = WORDS.filter(({ lines }) => lines.length === 2).map(
  ({ head, lines }) => [head, ...lines] as [string, string, string],
)

const told = (message: string, status = 400): string | null =>
  quotedWords(
    statusFailure(status, {}, JSON.stringify({ error: { type: 'invalid_request_error', message } })),
    ROUTE,
    ABOUT,
  )

describe("an upstream's words about a request", () => {
  for (const sentence of KEPT) {
    it(`stay as they are, so that a client can mend its request: ${sentence}`, () => {
      expect(told(sentence)).to.equal(sentence)
    })
  }

  for (const [what, sentence, wanted] of LOST) {
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
