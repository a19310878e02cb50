import { expect } from 'chai'
import { requestHash } from '../../../../src/api/v1/calls/joined-calls.ts'

const hash = (more: Record<string, unknown>): string => requestHash('chat', { model: 'm', messages: [], ...more })

const text = (words: string) => ({ type: 'text', text: words })

describe('the same request', () => {
  it('is one whatever the form of its answer and the order of its keys', () => {
    expect(requestHash('chat', { messages: [], stream: true, model: 'm', stream_options: {} })).to.equal(hash({}))
  })

  it('is one whatever an agent tells its vendor about itself', () => {
    expect(hash({ client_metadata: { a: 1 } })).to.equal(hash({ client_metadata: { b: 2 } }))
    const billed = (session: string) =>
      hash({ system: [text(`x-anthropic-billing-header: ${session}`), text('Be brief.')] })
    expect(billed('one')).to.equal(billed('two'))
    expect(billed('one')).to.equal(hash({ system: [text('Be brief.')] }))
  })

  it('is another one for another model, system or turn', () => {
    const others = [
      {},
      { model: 'n' },
      { messages: [1] },
      { system: 'x' },
      { system: [text('x')] },
      { metadata: { a: 1 } },
    ]
    expect(new Set(others.map(hash)).size).to.equal(others.length)
  })
})
