import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { chatOptions } from '../../../src/shared/chat/completions/fields.ts'
import { checkChat } from '../../../src/shared/chat/completions/check.ts'
import type { Dialect } from '../../../src/shared/chat/dialect.ts'
import { DIALECTS, dialectOf } from '../../../src/shared/chat/dialect.ts'
import type { Cell, Feature } from '../../../src/shared/chat/features.ts'
import { FEATURES } from '../../../src/shared/chat/features.ts'
import { checkGemini } from '../../../src/shared/chat/gemini/check.ts'
import { geminiBody } from '../../../src/shared/chat/gemini/fields.ts'
import { checkMessages } from '../../../src/shared/chat/messages/check.ts'
import { messagesBody } from '../../../src/shared/chat/messages/fields.ts'
import type { ChatProtocol } from '../../../src/shared/chat/protocols.ts'
import { CHAT_PROTOCOLS, carryingRoutes, requireCarried } from '../../../src/shared/chat/protocols.ts'
import { checkResponses } from '../../../src/shared/chat/responses/check.ts'
import { responsesBody } from '../../../src/shared/chat/responses/fields.ts'
import { ApiError } from '../../../src/shared/platform/errors.ts'
import type { Fields } from '../../../src/shared/platform/fields.ts'
import type { ChatRequest } from '../../../src/shared/requests/requests.ts'
import { asked } from '../../../src/workers/upstreams/protocol.ts'
import type { Sample } from './cell-samples.ts'
import { SAMPLES, TEXT_FILES } from './cell-samples.ts'
import { contextOf, routeTo } from './sandbox-upstreams.ts'
import { PARTS } from './translated.ts'

const PROTOCOLS = Object.keys(CHAT_PROTOCOLS) as ChatProtocol[]

const MODEL = {
  partTokens: { image: 1, image_url: 1, file: 1, document: 1, input_file: 1, input_audio: 1 },
  upstreams: [{ allow: [] }],
}
const HELLO = [{ role: 'user', content: 'hello' }]
const REQUESTS: Record<Dialect, (fields: Fields) => ChatRequest> = {
  chat: (fields) => checkChat({ model: 'm', messages: HELLO, max_tokens: 9, ...fields }, MODEL),
  messages: (fields) => checkMessages({ model: 'm', messages: HELLO, max_tokens: 9, ...fields }, MODEL).request,
  responses: (fields) => checkResponses({ model: 'm', input: 'hello', ...fields }, MODEL).request,
  gemini: (fields) => checkGemini({ model: 'm', contents: [{ parts: [{ text: 'hello' }] }], ...fields }, MODEL).request,
}
/** Fields that every request has, and that are tested elsewhere. */
const OF_ALL: Record<Dialect, string[]> = {
  chat: ['messages', 'max_tokens', 'max_completion_tokens', 'stream', 'usage', 'service_tier', 'reasoning'],
  messages: ['model', 'messages', 'max_tokens', 'stream'],
  responses: ['model', 'input', 'instructions', 'max_output_tokens', 'stream'],
  // Filters of a vendor's own, which others do not have.
  gemini: ['model', 'contents', 'systemInstruction', 'safetySettings', 'stream'],
}
const SCHEMAS = { chat: chatOptions, messages: messagesBody, responses: responsesBody, gemini: geminiBody }

const routeOf = (protocol: ChatProtocol, allow: string[] = []) => routeTo(protocol, 'http://x.test', { allow })

const sent = (dialect: Dialect, fields: Fields, protocol: ChatProtocol): string =>
  JSON.stringify(
    asked(PARTS[protocol], REQUESTS[dialect](fields), { ...contextOf(routeOf(protocol)), dialect }, false).body,
  )

const refusalOf = (dialect: Dialect, fields: Fields, protocol: ChatProtocol): string | null => {
  try {
    requireCarried([routeOf(protocol)], REQUESTS[dialect](fields), dialect)
    return null
  } catch (error) {
    expect(error).to.be.instanceOf(ApiError)
    return (error as ApiError).param
  }
}

/** Whether a value has everything that another one has. */
const contains = (value: unknown, part: unknown): boolean =>
  typeof part === 'object' && part !== null
    ? Object.entries(part).every(([name, one]) => contains((value as Fields | undefined)?.[name], one))
    : value === part

/** What the cell of a field promises holds for what is sent, or for the refusal. */
function check(dialect: Dialect, sample: Sample, protocol: ChatProtocol, cell: Cell | 'native'): unknown {
  const { body, feature, at, wire } = sample
  const spoken = CHAT_PROTOCOLS[protocol].dialect
  const refused = refusalOf(dialect, body, protocol)
  expect(refused).to.equal(cell === 'refused' ? at : null)
  if (cell === 'refused') return
  const json = sent(dialect, body, protocol)
  if (cell === 'hint') {
    const asks = dialectOf(dialect).canonical(REQUESTS[dialect](body), () => null)
    if (feature in asks.further) expect(json).to.equal(sent(dialect, {}, protocol))
  } else if (cell === 'native' && wire[spoken] === undefined) {
    expect(contains(JSON.parse(json), body), json).to.equal(true)
  } else {
    expect(wire, `what ${protocol} is sent`).to.have.property(spoken)
    expect(json).to.include(wire[spoken])
  }
}

describe('what becomes of what a request asks for', () => {
  for (const dialect of DIALECTS) {
    it(`is tested for every field of ${dialect}`, () => {
      const fields = new Set([...SAMPLES[dialect].map(({ field }) => field), ...OF_ALL[dialect]])
      expect([...fields]).to.have.members([...new Set([...Object.keys(SCHEMAS[dialect].shape), ...fields])])
      for (const { feature, body, field } of SAMPLES[dialect]) {
        const chat = dialectOf(dialect).canonical(REQUESTS[dialect](body), () => null)
        expect(FEATURES[feature](chat), `${field}: ${feature}`).to.be.a('string')
      }
    })

    for (const protocol of PROTOCOLS) {
      const { dialect: own, carries } = CHAT_PROTOCOLS[protocol]
      for (const sample of SAMPLES[dialect]) {
        const cell = (own as Dialect) === dialect ? 'native' : carries.cells[sample.feature]
        it(`is ${cell} of ${dialect} at ${protocol}: ${sample.field}, ${sample.feature}`, () =>
          check(dialect, sample, protocol, cell))
      }

      it(`is its text of a file that is a text, of ${dialect} at ${protocol}`, () => {
        const json = sent(dialect, TEXT_FILES[dialect], protocol)
        if ((own as Dialect) !== dialect) expect(json).to.include('plain words')
      })
    }
  }

  it('has a sample for every feature', () => {
    const tested = new Set(DIALECTS.flatMap((dialect) => SAMPLES[dialect].map(({ feature }) => feature)))
    expect([...tested]).to.have.members(Object.keys(FEATURES))
  })

  it('decides which of the upstreams of a model are asked', () => {
    const [claude, gpt] = [routeOf('anthropic'), routeOf('openai')]
    const seeded = REQUESTS.messages({ top_k: 3 })
    expect(carryingRoutes([routeOf('responses'), gpt, claude], seeded, 'messages')).to.deep.equal([gpt, claude])
    const thinking = { ...REQUESTS.chat({}), thinking: { type: 'enabled' } }
    const allowed = routeOf('anthropic', ['thinking'])
    expect(carryingRoutes([claude, gpt, allowed], thinking)).to.deep.equal([allowed])
    expect(() => requireCarried([claude, routeOf('responses')], REQUESTS.chat({ seed: 1 }))).to.throw(/^seed/)
    expect(() => requireCarried([], REQUESTS.chat({ seed: 1 }))).not.to.throw()
  })

  it('is documented', () => {
    const page = readFileSync('docs/upstreams/fields.md', 'utf8')
    const rows = [...page.matchAll(/^\| `(\w+)` \|[^|]*\| (.*) \|$/gm)].map(([, name, cells]) => [
      name,
      cells!.split(' | '),
    ])
    const expected = (Object.keys(FEATURES) as Feature[]).map((feature) => [
      feature,
      PROTOCOLS.map((protocol) => CHAT_PROTOCOLS[protocol].carries.cells[feature]),
    ])
    expect(Object.fromEntries(rows)).to.deep.equal(Object.fromEntries(expected))
  })
})
