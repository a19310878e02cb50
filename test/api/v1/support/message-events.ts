import { expect } from 'chai'

/** An event of the Messages API, or an object in one. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Event = { type: string; [field: string]: any }

const KINDS: Readonly<Record<string, readonly string[]>> = {
  text: ['text_delta'],
  thinking: ['thinking_delta', 'signature_delta'],
  redacted_thinking: [],
  tool_use: ['input_json_delta'],
}

/**
 * Expects that a stream begins with its one start, that its blocks follow one another with deltas of their own kind,
 * and that it ends with its one delta and its one stop.
 */
export function expectOrder(events: readonly Event[]): void {
  const types = events.map(({ type }) => type)
  expect(types[0]).to.equal('message_start')
  expect(types.slice(-2)).to.deep.equal(['message_delta', 'message_stop'])
  let next = 0
  let open: string | null = null
  for (const { type, index, delta, content_block: block } of events.slice(1, -2)) {
    expect(index, type).to.equal(next)
    if (type === 'content_block_start') {
      expect(open).to.equal(null)
      open = String(block.type)
    } else if (type === 'content_block_delta') expect(KINDS[open!]).to.include(delta.type)
    else {
      expect([type, open === null]).to.deep.equal(['content_block_stop', false])
      open = null
      next += 1
    }
  }
  expect(open).to.equal(null)
}

/** The blocks of a stream, put together: of texts their words, of calls their name and arguments. */
export function blocksOf(events: readonly Event[]): unknown[] {
  return events
    .filter(({ type }) => type === 'content_block_start')
    .map(({ index, content_block: block }) => {
      const deltas = events.filter((event) => event.type === 'content_block_delta' && event.index === index)
      const words = deltas.map(({ delta }) => delta.text ?? delta.partial_json ?? delta.thinking ?? '').join('')
      if (block.type !== 'tool_use') return { [block.type]: words }
      return { [block.name]: words === '' ? block.input : JSON.parse(words) }
    })
}
