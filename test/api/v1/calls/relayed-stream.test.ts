import { expect } from 'chai'
import { RelayedStreams } from '../../../../src/api/v1/calls/relayed-stream.ts'

const call = {
  model: 'm',
  price: { input: 1, output: 3, perTokens: 1, minimum: 1 },
  amount: 305,
  estimate: { input: 5, output: 100 },
}

const word = (content: string, index = 0, finish: string | null = null): string =>
  JSON.stringify({ id: 'c', model: 'm', choices: [{ index, delta: { content }, finish_reason: finish }] })

/** Chunks as their worker sends them. @param words the bytes of all words up to these */
const chunks = (from: number, words: number, ...texts: string[]) =>
  ({ type: 'chunks', from, chunks: texts, words, isEnd: false }) as const

const ROOM = 1024

describe('what a web process has sent on of a stream', () => {
  it('is settled by its words, whatever of it is kept', () => {
    const streams = new RelayedStreams(ROOM)
    const [first, second] = [streams.begin(), streams.begin()]
    first.take(chunks(0, 6, word('abcdef')))
    first.take(chunks(1, 1006, word('g'.repeat(1000))))
    second.take(chunks(0, 6, word('mnopqr')))
    const settlement = first.settlement({ ...call, estimate: { input: 5, output: 1000 } })!
    expect(settlement).to.deep.include({ tokens: { input: 5, output: 336 }, costMicroUsd: null })
    expect(JSON.parse(settlement.output).choices[0]).to.deep.include({ finish_reason: 'length' })
    expect(JSON.parse(settlement.output).choices[0].message.content).to.equal('abcdef')
    expect(JSON.parse(second.settlement(call)!.output).choices[0].message.content ?? '').to.equal('')
  })

  it('is settled by its words in the events of the Messages API too, and ends in them', () => {
    const stream = new RelayedStreams().begin('messages')
    const events = [
      { type: 'message_start', message: { id: 'msg_1', content: [] } },
      { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'abcdef' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'content_block_start', index: 1, content_block: { type: 'tool_use', id: 'a', name: 'abc', input: {} } },
      { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{"a":' } },
    ]
    stream.take(chunks(0, 14, ...events.map((event) => JSON.stringify(event))))
    const settlement = stream.settlement(call)!
    expect(settlement.tokens).to.deep.equal({ input: 5, output: 5 })
    expect(JSON.parse(settlement.output)).to.deep.include({ stop_reason: 'max_tokens', model: 'm' })
    expect(stream.lastChunks().chunks.map((text) => JSON.parse(text).type)).to.deep.equal([
      'content_block_stop',
      'message_delta',
    ])
  })

  it('gives back its room once it is over', () => {
    const streams = new RelayedStreams(ROOM)
    const first = streams.begin()
    first.take(chunks(0, 6, word('abcdef')))
    first.release()
    const second = streams.begin()
    second.take(chunks(0, 6, word('ghijkl')))
    expect(second.settlement(call)!.output).to.include('ghijkl')
  })

  for (const room of [ROOM, 0])
    it(`ends with the chunk that ends each choice which has not ended, in ${room} bytes of room`, () => {
      const stream = new RelayedStreams(room).begin()
      stream.take(chunks(0, 2, word('a', 0), word('b', 1, 'stop')))
      expect(stream.isWhole).to.equal(false)
      stream.settlement(call)
      const last = stream.lastChunks()
      expect(last.chunks.map((text) => JSON.parse(text).choices)).to.deep.equal([
        [{ index: 0, delta: {}, finish_reason: 'length' }],
      ])
      expect(stream.isWhole).to.equal(true)
    })

  it('is whole where its worker says so, and then has nothing more to end', () => {
    const stream = new RelayedStreams().begin()
    stream.take(chunks(0, 1, word('a')))
    stream.take({ ...chunks(1, 1, word('', 0, 'stop')), isEnd: true })
    expect(stream.isWhole).to.equal(true)
    expect(stream.lastChunks().chunks).to.deep.equal([])
  })

  it('is nothing where no words came, and counts none that are not sent on', () => {
    const stream = new RelayedStreams().begin()
    stream.take(chunks(0, 0, word('')))
    expect(stream.settlement(call)).to.equal(null)
    expect(stream.take(chunks(2, 11, word('after a gap')))).to.equal(false)
    expect(stream.settlement(call)).to.equal(null)
  })

  it('costs at most twice its charge, however much was sent on', () => {
    const stream = new RelayedStreams().begin()
    stream.take(chunks(0, 1100, word('ten letters'.repeat(100))))
    const settlement = stream.settlement({ ...call, amount: 8, estimate: { input: 5, output: 1 } })!
    expect(settlement).to.deep.include({ tokens: { input: 5, output: 2 }, cost: 11 })
    const another = new RelayedStreams().begin()
    another.take(chunks(0, 1100, word('ten letters'.repeat(100))))
    expect(another.settlement({ ...call, amount: 8 })).to.deep.include({ cost: 16 })
  })

  it('is counted up to where its reader has left', () => {
    const stream = new RelayedStreams().begin()
    stream.take(chunks(0, 3, word('abc')))
    expect(stream.leave()).to.equal(true)
    expect(stream.take(chunks(1, 9, word('defghi')))).to.equal(false)
    const settlement = stream.settlement(call)!
    expect(settlement.tokens).to.deep.equal({ input: 5, output: 1 })
    expect(JSON.parse(settlement.output).choices[0].finish_reason).to.equal('cancelled')
  })
})
