import { expect } from 'chai'
import fc from 'fast-check'
import { ownCount, settleChat } from '../../../src/shared/calls/chat-settlement.ts'
import type { ChatEnd, ChatEvidence } from '../../../src/shared/calls/chat-settlement.ts'

/** A relayed stream with some words. */
const about = (end: ChatEnd, more: Partial<ChatEvidence> = {}): ChatEvidence => ({
  end,
  sent: true,
  isRelayed: true,
  counted: 7,
  tokens: { input: 20, output: more.counted ?? 7 },
  ...more,
})

const paid = (input: number, output: number, finish: string): object => ({
  is: 'paid',
  tokens: { input, output },
  finish,
})
const NOTHING: Partial<ChatEvidence> = { counted: 0 }

describe('the settlement of a chat', () => {
  it('is of its tokens where the upstream says that it is complete, with or without words', () => {
    expect(settleChat(about('finished'))).to.deep.equal(paid(20, 7, 'stop'))
    expect(settleChat(about('finished', NOTHING))).to.deep.equal(paid(20, 0, 'stop'))
  })

  it('counts itself the input that was charged for, and words up to twice the output that was allowed', () => {
    expect(ownCount(7, { input: 20, output: 4 })).to.deep.equal({ input: 20, output: 7 })
    expect(ownCount(9, { input: 20, output: 4 })).to.deep.equal({ input: 20, output: 8 })
  })

  for (const end of ['deadline', 'too_long', 'worker_lost'] as const) {
    it(`charges the part of an answer that was cut here (${end}), and nothing for none`, () => {
      expect(settleChat(about(end))).to.deep.equal(paid(20, 7, 'length'))
      expect(settleChat(about(end, { isRelayed: false }))).to.deep.equal(paid(20, 7, 'length'))
      expect(settleChat(about(end, NOTHING))).to.deep.equal({ is: 'refunded' })
    })
  }

  it('charges at least the input if the client disconnects after the request was sent, and nothing before', () => {
    expect(settleChat(about('client_left'))).to.deep.equal(paid(20, 7, 'cancelled'))
    expect(settleChat(about('client_left', NOTHING))).to.deep.equal(paid(20, 0, 'cancelled'))
    expect(settleChat(about('client_left', { ...NOTHING, sent: false }))).to.deep.equal({ is: 'refunded' })
  })

  it('charges what a stream has delivered when its worker stops; an undelivered one is restarted', () => {
    expect(settleChat(about('shutdown'))).to.deep.equal(paid(20, 7, 'length'))
    expect(settleChat(about('shutdown', NOTHING))).to.deep.equal({ is: 'requeued' })
    expect(settleChat(about('shutdown', { isRelayed: false }))).to.deep.equal({ is: 'requeued' })
  })

  it('charges nothing if the upstream failed, whatever it sent before', () => {
    expect(settleChat(about('upstream_failed'))).to.deep.equal({ is: 'refunded' })
  })

  it('never costs a customer less by disconnecting than by waiting for as much', () => {
    fc.assert(
      fc.property(
        fc.nat(500),
        fc.nat(500),
        fc.constantFrom<ChatEnd>('deadline', 'too_long', 'client_left', 'worker_lost'),
        (counted, input, end) => {
          const tokens = { input, output: counted + 1 }
          const whole = settleChat(about('finished', { counted: counted + 1, tokens }))
          const cut = settleChat(about(end, { counted: counted + 1, tokens }))
          return (
            whole.is === 'paid' &&
            cut.is === 'paid' &&
            cut.tokens.input === whole.tokens.input &&
            cut.tokens.output === whole.tokens.output
          )
        },
      ),
    )
  })
})
