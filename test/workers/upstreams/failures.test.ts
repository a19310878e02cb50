import { expect } from 'chai'
import { inspect } from 'node:util'
import type { CustomersFault, FailureKind } from '../../../src/workers/upstreams/adapter.ts'
import { failureIn, statusFailure } from '../../../src/workers/upstreams/failures.ts'
import { retryAfterMs } from '../../../src/workers/upstreams/pauses.ts'

/** An error as Google's APIs write it. */
const googles = (status: string, detail?: object) => ({ error: { message: 'm', status, details: [detail ?? {}] } })

const KINDS: [status: number, body: unknown, kind: FailureKind][] = [
  [429, { error: { type: 'requests', code: 'rate_limit_exceeded', message: 'm' } }, 'rate_limited'],
  [429, { error: { type: 'insufficient_quota', code: 'insufficient_quota' } }, 'not_served'],
  [429, { error: { code: 'organization_spend_limit_exceeded' } }, 'not_served'],
  [429, { type: 'error', error: { type: 'rate_limit_error', message: 'm' } }, 'rate_limited'],
  [
    429,
    { type: 'error', error: { type: 'rate_limit_error', details: { error_code: 'enforced_spend_limit_reached' } } },
    'not_served',
  ],
  [400, { type: 'error', error: { type: 'billing_error' } }, 'not_served'],
  [429, 'not even JSON', 'rate_limited'],
  [429, { detail: 'Request was throttled' }, 'rate_limited'],
  [400, googles('INVALID_ARGUMENT', { reason: 'API_KEY_INVALID' }), 'not_served'],
  [400, googles('FAILED_PRECONDITION'), 'not_served'],
  [403, googles('PERMISSION_DENIED', { reason: 'BILLING_DISABLED' }), 'not_served'],
  [400, googles('INVALID_ARGUMENT'), 'rejected'],
  [429, [googles('RESOURCE_EXHAUSTED', { retryDelay: '7.5s' })], 'rate_limited'],
  [503, googles('UNAVAILABLE'), 'overloaded'],
  [503, '', 'overloaded'],
  [503, { error: { type: 'billing_error' } }, 'not_served'],
  [529, { type: 'error', error: { type: 'overloaded_error' } }, 'overloaded'],
  [500, '<html>', 'unknown'],
  [502, '', 'unknown'],
  [504, '', 'unknown'],
  [520, '', 'unknown'],
  [301, '', 'rejected'],
  [401, '', 'not_served'],
  [402, '', 'not_served'],
  [404, '', 'not_served'],
  [408, '', 'rejected'],
  [422, { detail: [{ loc: ['body', 'prompt'], msg: 'Field required' }] }, 'rejected'],
]

describe('a failed request', () => {
  for (const [status, body, kind] of KINDS) {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    it(`is ${kind} with status ${status} and ${text || 'nothing'}`, () => {
      expect(statusFailure(status, {}, text)).to.include({ kind, status })
    })
  }

  it('states the pause that Google asks for in its body, and which key it refuses', () => {
    const said = (status: number, error: object) => statusFailure(status, {}, JSON.stringify(error))
    const limited = said(429, googles('RESOURCE_EXHAUSTED', { retryDelay: '7.5s' }))
    expect(limited).to.include({ keyFault: 'limited', retryAfterMs: 7500, resetMs: 7500 })
    expect(said(429, googles('RESOURCE_EXHAUSTED', { retryDelay: 'soon' }))).to.include({ retryAfterMs: null })
    const refused = said(400, googles('INVALID_ARGUMENT', { reason: 'API_KEY_INVALID' }))
    expect(refused).to.include({ keyFault: 'refused', retryAfterMs: null })
    expect(failureIn(googles('UNAVAILABLE'))).to.include({ kind: 'overloaded' })
  })

  it("says status, code and type, and keeps the upstream's words apart, shortened", () => {
    const error = { message: 'too long: a prompt', code: 'context', type: 'invalid_request_error', reason: 'a prompt' }
    const failure = statusFailure(400, {}, JSON.stringify({ error }))
    expect(failure).to.include({
      message: 'HTTP 400 (context, invalid_request_error)',
      code: 'context',
      type: 'invalid_request_error',
      said: 'too long: a prompt',
    })
    expect(inspect(failure)).not.to.contain('a prompt')
    expect(statusFailure(422, {}, JSON.stringify({ detail: [{ msg: 'Field required' }] })).said).to.contain(
      'Field required',
    )
    expect(statusFailure(400, {}, 'x'.repeat(10_000)).said!.length).to.be.below(400)
    expect(statusFailure(400, {}, JSON.stringify({ error: { code: 'a prompt', type: 'x'.repeat(65) } }))).to.include({
      message: 'HTTP 400',
      code: null,
      type: null,
    })
    expect(statusFailure(504, { 'x-fal-error-type': 'request_timeout' }, '{}')).to.include({ code: 'request_timeout' })
  })

  const FAULTS: [message: string, fault: CustomersFault][] = [
    ['input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000', 'context_length_exceeded'],
    ['The prompt was blocked due to safety settings: PROHIBITED_CONTENT.', 'content_policy'],
    ['Content Exists Risk', 'content_policy'],
  ]
  it("is its customer's fault in the words of each vendor, whatever the code", () => {
    for (const [message, fault] of FAULTS) {
      const body = { error: { message, type: 'invalid_request_error', code: 'invalid_request_error' } }
      expect(statusFailure(400, {}, JSON.stringify(body)), message).to.include({ kind: 'rejected', fault })
      expect(failureIn(body), message).to.include({ kind: 'rejected', fault })
    }
  })

  const now = Date.parse('2026-11-21T12:00:00Z')
  const PAUSES: [headers: Record<string, string>, ms: number | null][] = [
    [{}, null],
    [{ 'retry-after': '3' }, 3000],
    [{ 'retry-after': '0.5' }, 500],
    [{ 'retry-after': '0' }, 0],
    [{ 'retry-after': '-5' }, null],
    [{ 'retry-after': '3600' }, 60_000],
    [{ 'retry-after': 'Sat, 21 Nov 2026 12:00:07 GMT' }, 7000],
    [{ 'retry-after': 'Sat, 21 Nov 2026 11:00:00 GMT' }, 0],
    [{ 'retry-after': 'soon' }, null],
    [{ 'retry-after-ms': '250', 'retry-after': '3' }, 250],
    [{ 'retry-after-ms': 'x', 'retry-after': '3' }, 3000],
  ]
  for (const [headers, ms] of PAUSES) {
    it(`asks to wait ${ms} ms with ${JSON.stringify(headers)}`, () => {
      expect(retryAfterMs(headers, now)).to.equal(ms)
    })
  }

  it('can be in an answer with status 200', () => {
    expect([{}, { error: null }, { error: false }, [], 'x', null].map((answer) => failureIn(answer))).to.deep.equal([
      null,
      null,
      null,
      null,
      null,
      null,
    ])
    const kindOf = (error: unknown) => failureIn({ error })?.kind
    expect(kindOf({ code: 503 })).to.equal('overloaded')
    expect(kindOf({ code: '429' })).to.equal('rate_limited')
    expect(kindOf({ type: 'overloaded_error' })).to.equal('overloaded')
    expect(kindOf({ type: 'invalid_request_error' })).to.equal('rejected')
    expect(kindOf('something broke')).to.equal('unknown')
  })
})
