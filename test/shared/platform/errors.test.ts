import { expect } from 'chai'
import { anthropicTypeOf, messagesErrors } from '../../../src/shared/chat/messages/errors.ts'
import {
  ApiError,
  errorCodes,
  gatewayError,
  isErrorCode,
  messageOf,
  shouldRetry,
  statusOf,
} from '../../../src/shared/platform/errors.ts'

describe('the catalogue of errors', () => {
  it('has one public sentence for every code', () => {
    for (const code of errorCodes()) expect(messageOf(code), code).to.match(/^[\p{Lu}a-z].{10,120}\.$/u)
  })

  it('lets SDKs retry 429, a temporary 503, and what only waits for held credits, and nothing else', () => {
    expect(errorCodes().filter(shouldRetry)).to.have.members(
      'credits_in_use rate_limited overloaded service_unavailable upstream_rate_limited upstream_overloaded'.split(' '),
    )
  })

  it('has the form that OpenAI SDKs read', () => {
    expect(gatewayError('invalid_prompt', undefined, 'prompt')).to.deep.equal({
      type: 'invalid_prompt',
      code: 'invalid_prompt',
      param: 'prompt',
      message: messageOf('invalid_prompt'),
    })
  })

  it('has a status and type of Anthropic for every code, 529 where the client should retry later', () => {
    const types = new Map<number, string>()
    for (const code of errorCodes()) types.set(messagesErrors.statusOf(code), anthropicTypeOf(code))
    expect(Object.fromEntries(types)).to.deep.equal({
      400: 'invalid_request_error',
      401: 'authentication_error',
      402: 'billing_error',
      403: 'permission_error',
      404: 'not_found_error',
      405: 'invalid_request_error',
      409: 'conflict_error',
      410: 'invalid_request_error',
      413: 'request_too_large',
      415: 'invalid_request_error',
      422: 'invalid_request_error',
      426: 'invalid_request_error',
      429: 'rate_limit_error',
      500: 'api_error',
      502: 'api_error',
      503: 'overloaded_error',
      529: 'overloaded_error',
    })
    expect(errorCodes().filter((code) => messagesErrors.statusOf(code) !== statusOf(code))).to.deep.equal(
      'unsupported_model credits_in_use model_not_allowed upstream_unavailable upstream_overloaded overloaded'.split(
        ' ',
      ),
    )
    expect([messagesErrors.statusOf('unsupported_model'), messagesErrors.statusOf('overloaded')]).to.deep.equal([
      404, 529,
    ])
  })

  it('knows its codes, and no inherited object property', () => {
    expect(isErrorCode('rate_limited')).to.equal(true)
    for (const text of ['', 'nonsense', 'toString', '__proto__', 'constructor'])
      expect(isErrorCode(text), text).to.equal(false)
  })

  it('keeps the cause of an error out of what is serialized', () => {
    const error = new ApiError('service_unavailable', { cause: new Error('password=hunter2') })
    expect(JSON.stringify(error)).not.to.include('hunter2')
    expect(error).to.include({ status: 503, code: 'service_unavailable', param: null })
  })
})
