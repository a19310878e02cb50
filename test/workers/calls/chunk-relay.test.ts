import { expect } from 'chai'
import { newId } from '../../../src/shared/platform/ids.ts'
import type { CallId } from '../../../src/shared/platform/ids.ts'
import type { Chunks } from '../../../src/shared/replies/channels.ts'
import { readReplies, writeChunks } from '../../../src/shared/replies/channels.ts'
import { ChunkRelays } from '../../../src/workers/calls/chunk-relay.ts'

const WEB = 'a-web-process'

/** Publications as a web process reads them; each is on its way until `arrive`. */
class Channel {
  readonly sent: { replyTo: string; parts: Chunks[] }[] = []
  readonly relays: ChunkRelays
  private arrivals: (() => void)[] = []
  private isHeld = false

  constructor() {
    const chunks = async (replyTo: string, parts: readonly Chunks[]) => {
      const replies = readReplies(writeChunks(parts))
      const read = replies.map((reply) => {
        if (reply.kind !== 'update' || reply.update.type !== 'chunks') throw new Error('no chunks')
        const { from, chunks, words, isEnd } = reply.update
        return { callId: reply.callId, from, chunks, words, isEnd }
      })
      this.sent.push({ replyTo, parts: read })
      if (this.isHeld) await new Promise<void>((resolve) => this.arrivals.push(resolve))
    }
    this.relays = new ChunkRelays({ chunks })
  }

  hold(): void {
    this.isHeld = true
  }

  arrive(): void {
    this.isHeld = false
    for (const resolve of this.arrivals.splice(0)) resolve()
  }

  /** The chunks of a stream in the order in which they were sent, each with its number. */
  of(callId: CallId): string[] {
    return this.sent.flatMap(({ parts }) =>
      parts
        .filter((part) => part.callId === callId)
        .flatMap(({ from, chunks }) => chunks.map((one, at) => `${from + at} ${one}`)),
    )
  }
}

describe('the chunks of streams on their way to a web process', () => {
  let channel: Channel
  beforeEach(() => {
    channel = new Channel()
  })

  const opened = (count: number, replyTo = WEB) =>
    Array.from({ length: count }, () => {
      const callId: CallId = newId('call')
      return { callId, relay: channel.relays.open(replyTo, callId) }
    })

  it('leave together where they come in one moment, and apart for another process', async () => {
    const streams = opened(50)
    const [other] = opened(1, 'another-web-process')
    for (const { relay } of [...streams, other!]) relay.push({ text: '{"a":"\\n\\n"}' })
    await Promise.all([...streams, other!].map(({ relay }) => relay.flush()))
    expect(channel.sent.map(({ replyTo, parts }) => [replyTo, parts.length])).to.have.deep.members([
      [WEB, 50],
      ['another-web-process', 1],
    ])
    expect(channel.of(streams[7]!.callId)).to.deep.equal(['0 {"a":"\\n\\n"}'])
  })

  it('leave in their order, numbered, while others are on their way', async () => {
    const [one, two] = opened(2)
    channel.hold()
    for (let nth = 0; nth < 20; nth++) {
      one!.relay.push({ text: String(nth) })
      two!.relay.push({ text: String(-nth) })
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(channel.sent, 'one is on its way at a time').to.have.length(1)
    channel.arrive()
    await Promise.all([one!.relay.flush(), two!.relay.flush()])
    expect(channel.of(one!.callId)).to.deep.equal(Array.from({ length: 20 }, (_, nth) => `${nth} ${nth}`))
    expect(channel.of(two!.callId)).to.deep.equal(Array.from({ length: 20 }, (_, nth) => `${nth} ${-nth}`))
  })

  it('leave one publication after the other where they do not fit into one', async () => {
    const [one] = opened(1)
    const chunks = ['a', 'b', 'c'].map((letter) => JSON.stringify(letter.repeat(200 * 1024)))
    for (const [nth, text] of chunks.entries()) one!.relay.push({ text, words: 10 * nth, isEnd: nth === 2 })
    await one!.relay.flush()
    expect(channel.of(one!.callId)).to.deep.equal(chunks.map((chunk, nth) => `${nth} ${chunk}`))
    const parts = channel.sent.flatMap((publication) => publication.parts)
    expect(
      parts.map(({ words, isEnd }) => ({ words, isEnd })),
      'what each has come to with its last chunk',
    ).to.deep.equal([
      { words: 10, isEnd: false },
      { words: 20, isEnd: true },
    ])
  })

  it('have left when their stream is flushed, and not before', async () => {
    const [one] = opened(1)
    await one!.relay.flush()
    channel.hold()
    one!.relay.push({ text: '1' })
    let isFlushed = false
    const flushing = one!.relay.flush().then(() => {
      isFlushed = true
    })
    while (channel.sent.length === 0) await new Promise((resolve) => setImmediate(resolve))
    expect(isFlushed).to.equal(false)
    channel.arrive()
    await flushing
  })

  it('stay where their stream is dropped, and those of others leave', async () => {
    const [one, two] = opened(2)
    channel.hold()
    one!.relay.push({ text: '0' })
    while (channel.sent.length === 0) await new Promise((resolve) => setImmediate(resolve))
    one!.relay.push({ text: '1' })
    two!.relay.push({ text: '0' })
    one!.relay.drop()
    channel.arrive()
    await Promise.all([one!.relay.flush(), two!.relay.flush()])
    expect([channel.of(one!.callId), channel.of(two!.callId)]).to.deep.equal([['0 0'], ['0 0']])
    one!.relay.close()
    two!.relay.close()
  })

  it('of a stream of megabytes do not hold up the next of another', async () => {
    const [large, small] = opened(2)
    const megabyte = JSON.stringify('x'.repeat(1024 * 1024))
    for (let nth = 0; nth < 8; nth++) large!.relay.push({ text: megabyte })
    small!.relay.push({ text: '"soon"' })
    await small!.relay.flush()
    expect(channel.of(large!.callId).length).to.be.lessThan(8)
    large!.relay.close()
  })
})
