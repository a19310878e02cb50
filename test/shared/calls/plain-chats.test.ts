import { expect } from 'chai'
import fc from 'fast-check'
import type { z } from 'zod'
import { chatOptions } from '../../../src/shared/calls/chat-fields.ts'
import { MAX_ELEMENTS, MAX_MESSAGES, ROLES, chatMessages } from '../../../src/shared/calls/chat-messages.ts'
import { isPlainOption, plainMessages } from '../../../src/shared/calls/plain-chats.ts'

const RUNS = 2000

/** A value as a body has it: what JSON can say. */
const written = (value: unknown): unknown => JSON.parse(JSON.stringify(value) ?? 'null') as unknown

/** Mostly plain parts, with everything that makes one not plain, or wrong. */
const part = fc.oneof(
  { weight: 3, arbitrary: fc.record({ type: fc.constant('text'), text: fc.string({ unit: 'binary' }) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('image_url'),
      image_url: fc.oneof(fc.string(), fc.record({ url: fc.string() })),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record(
      {
        type: fc.constantFrom<unknown>('text', 'image_url', 'input_audio', '', null, 7),
        text: fc.constantFrom<unknown>('x', null, 7),
        image_url: fc.constantFrom<unknown>('x', { url: 'x', detail: 'low' }, { url: 7 }, { detail: 'low' }, [], null),
        cache_control: fc.constantFrom<unknown>({ type: 'ephemeral' }, { type: 'ephemeral', ttl: '1h' }, null),
        extra: fc.constant(1),
      },
      { requiredKeys: [] },
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom<unknown>(null, 'x', 7, [], ['type', 'text']) },
)

/** Mostly plain messages, with everything that makes one not plain, or wrong. */
const message = fc.oneof(
  { weight: 4, arbitrary: fc.record({ role: fc.constantFrom(...ROLES), content: fc.string({ unit: 'binary' }) }) },
  {
    weight: 1,
    arbitrary: fc.record(
      {
        role: fc.constantFrom<unknown>(...ROLES, 'function', 'User', '', null, 7),
        content: fc.constantFrom<unknown>('x', '', null, 7, [], [{ type: 'text', text: 'x' }], {}),
        name: fc.constantFrom<unknown>('x', null, 7),
        tool_calls: fc.constantFrom<unknown>([], null, [{ id: 'a', function: { name: 'f', arguments: '' } }]),
        extra: fc.constant(1),
        ['__proto__']: fc.constant({ role: 'user', content: 'x' }),
      },
      { requiredKeys: [] },
    ),
  },
  {
    weight: 4,
    arbitrary: fc.record({ role: fc.constantFrom(...ROLES), content: fc.array(part, { maxLength: 3 }) }),
  },
  { weight: 1, arbitrary: fc.constantFrom<unknown>(null, 'x', 7, [], ['role', 'content']) },
)

const messages = fc.oneof(
  { weight: 6, arbitrary: fc.array(message, { maxLength: 4 }) },
  { weight: 1, arbitrary: fc.constantFrom<unknown>(null, 'x', {}, { length: 1 }) },
)

const number = fc.oneof(
  fc.constantFrom(0, -0, 1, 2, 0.5, 1.5, -1, 100_000_000, 100_000_001, 2 ** 53, 1e308, -1e308),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
)
const value = fc.oneof(number, fc.boolean(), fc.constantFrom<unknown>(null, '1', 'true', [], [1], {}))

describe('chats that are looked at by hand', () => {
  it('are answered as their schema answers them, whatever their messages are', () => {
    let plain = 0
    fc.assert(
      fc.property(messages, (some) => {
        const sent = written(some)
        const found = plainMessages(sent)
        if (found === null) return
        plain++
        const parsed = chatMessages.safeParse(sent)
        expect(parsed.success, JSON.stringify(sent)).to.equal(true)
        expect(found).to.deep.equal(parsed.data)
      }),
      { numRuns: RUNS },
    )
    expect(plain, 'of them were plain').to.be.greaterThan(RUNS / 10)
  })

  it('are answered as their schema answers them, whatever their options are', () => {
    const names = Object.keys(chatOptions.shape) as (keyof typeof chatOptions.shape)[]
    const plain = new Set<string>()
    fc.assert(
      fc.property(fc.constantFrom(...names), value, (name, some) => {
        const sent = written(some)
        if (!isPlainOption(name, sent)) return
        plain.add(name)
        const parsed = (chatOptions.shape[name] as z.ZodType).safeParse(sent)
        expect([parsed.success, parsed.data], `${name}: ${JSON.stringify(sent)}`).to.deep.equal([true, sent])
      }),
      { numRuns: 5 * RUNS },
    )
    expect([...plain].toSorted()).to.include.members(['max_tokens', 'stream', 'temperature', 'top_p'])
  })

  it('are as many as a schema takes, and no more', () => {
    const many = (count: number) => Array.from({ length: count }, () => ({ role: 'user', content: 'x' }))
    for (const count of [0, 1, MAX_MESSAGES, MAX_MESSAGES + 1]) {
      expect(plainMessages(many(count)) !== null, `${count} messages`).to.equal(
        chatMessages.safeParse(many(count)).success,
      )
    }
    for (const count of [0, 1, MAX_ELEMENTS, MAX_ELEMENTS + 1]) {
      const content = Array.from({ length: count }, () => ({ type: 'text', text: 'x' }))
      const sent = [{ role: 'user', content }]
      expect(plainMessages(sent) !== null, `${count} parts`).to.equal(chatMessages.safeParse(sent).success)
    }
  })
})
