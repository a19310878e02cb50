import { expect } from 'chai'
import { NoKey, UpstreamError } from '../../../src/workers/upstreams/adapter.ts'
import { mayGoOn } from '../../../src/workers/calls/model-list.ts'
import { ReferenceRefused } from '../../../src/workers/calls/references.ts'

const rejected = (details: ConstructorParameters<typeof UpstreamError>[2]) =>
  new UpstreamError('rejected', 'x', details)

describe('a call with a list of models', () => {
  const TABLE: [what: string, error: Error, goesOn: boolean][] = [
    ['the chat is too long', rejected({ status: 400, fault: 'context_length_exceeded' }), true],
    ['the content is refused', rejected({ status: 400, fault: 'content_policy' }), true],
    ['the request is at fault', rejected({ status: 400 }), false],
    ['there is no upstream', rejected({}), true],
    ['no key takes the call', new NoKey(1000), true],
    ['the only key is refused', new NoKey(null, new UpstreamError('not_served', 'x', { keyFault: 'refused' })), true],
    ...(['not_sent', 'rate_limited', 'overloaded', 'not_served', 'unknown'] as const).map(
      (kind): [string, Error, boolean] => [`an upstream fails: ${kind}`, new UpstreamError(kind, 'x'), true],
    ),
    ['the time is over', new UpstreamError('late', 'x'), false],
    ['it was ended', new UpstreamError('aborted', 'x'), false],
    ['a picture of it is refused', new ReferenceRefused('x'), false],
    ['there is a defect', new Error('x'), false],
  ]
  const { signal } = new AbortController()
  for (const [what, error, goesOn] of TABLE)
    it(`${goesOn ? 'goes on' : 'ends'} where ${what}`, () =>
      expect(mayGoOn({ signal, hasBegun: false }, error)).to.equal(goesOn))

  it('ends once its reader has something, or its work was ended', () => {
    const error = new UpstreamError('unknown', 'x')
    expect(mayGoOn({ signal, hasBegun: true }, error)).to.equal(false)
    expect(mayGoOn({ signal: AbortSignal.abort(), hasBegun: false }, error)).to.equal(false)
  })
})
