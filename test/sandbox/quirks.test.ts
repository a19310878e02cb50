import { expect } from 'chai'
import { QUIRKS } from '../../sandbox/chat/quirks.ts'
import type { ChatAdapter } from '../../src/workers/upstreams/adapter.ts'
import { collected } from '../../src/workers/upstreams/translation.ts'
import { chatOf, choiceOf, failureOf, promptOf, startWorld } from '../workers/upstreams/sandbox-upstreams.ts'
import type { World } from '../workers/upstreams/sandbox-upstreams.ts'

const FAILURES = new Set(['error-event', 'error-object', 'error-finish'])
const WEATHER = { type: 'function', function: { name: 'weather', parameters: { type: 'object', properties: {} } } }

describe('a quirk of the sandbox', () => {
  let world: World
  let chat: ChatAdapter

  before(async () => {
    world = await startWorld()
    chat = world.upstreams.adapterOf('openai').chat!
  })
  after(() => world.close())

  const read = (words: string, more = {}) =>
    collected(chat.streamChat(chatOf(promptOf(words), more), world.context('openai')), 1_000_000)

  for (const name of Object.keys(QUIRKS)) {
    it(`${FAILURES.has(name) ? 'is a failure' : 'changes nothing that was meant'}: ${name}`, async () => {
      const text = read(`[answer Good morning to you] [quirk ${name}]`)
      if (FAILURES.has(name)) return expect((await failureOf(text)).kind).to.be.oneOf(['unknown', 'rejected'])
      expect(choiceOf(await text).message.content).to.equal('Good morning to you')
      const { message } = choiceOf(await read(`[tool] [quirk ${name}]`, { tools: [WEATHER] }))
      expect(message.tool_calls).to.have.length(1)
      expect(message.tool_calls![0]!.function.name).to.equal('weather')
      expect(() => JSON.parse(message.tool_calls![0]!.function.arguments)).not.to.throw()
    })
  }
})
