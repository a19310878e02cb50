import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { steeringHelp } from '../../sandbox/help.ts'
import { QUIRKS, isOf } from '../../sandbox/chat/quirks.ts'
import { root } from '../../scripts/folders.ts'
import { chatForm } from '../../src/shared/chat/completions/answer.ts'
import type { ChatAdapter } from '../../src/workers/upstreams/adapter.ts'
import { collected } from '../../src/workers/upstreams/translation.ts'
import { chatOf, choiceOf, failureOf, promptOf, useWorld } from '../workers/upstreams/sandbox-upstreams.ts'

const FAILURES = new Set(['error-event', 'error-object', 'error-finish'])
const WEATHER = { type: 'function', function: { name: 'weather', parameters: { type: 'object', properties: {} } } }

describe('a quirk of the sandbox', () => {
  const world = useWorld()
  let chat: ChatAdapter
  before(() => {
    chat = world.upstreams.adapterOf('openai').chat!
  })

  /** The answer, streamed or whole. */
  const read = (what: 'stream' | 'answer', words: string, more = {}) => {
    const request = chatOf(promptOf(words), more)
    return what === 'answer'
      ? chat.chat(request, world.context('openai'))
      : collected((take) => chat.streamChat(request, world.context('openai'), take), chatForm, 1_000_000)
  }

  const both = (['stream', 'answer'] as const).flatMap((what) =>
    Object.keys(QUIRKS)
      .filter((name) => isOf(name, what))
      .map((name) => [what, name] as const),
  )
  for (const [what, name] of both) {
    it(`${FAILURES.has(name) ? 'is a failure' : 'changes nothing that was meant'}: ${name}, ${what}`, async () => {
      const text = read(what, `[answer Good morning to you] [quirk ${name}]`)
      if (FAILURES.has(name)) return expect((await failureOf(text)).kind).to.be.oneOf(['unknown', 'rejected'])
      expect(choiceOf(await text).message.content).to.equal('Good morning to you')
      const { message } = choiceOf(await read(what, `[tool] [quirk ${name}]`, { tools: [WEATHER] }))
      expect(message.tool_calls).to.have.length(1)
      expect(message.tool_calls![0]!.function.name).to.equal('weather')
      expect(() => JSON.parse(message.tool_calls![0]!.function.arguments)).not.to.throw()
    })
  }

  /** What a client gets that asks the sandbox itself. */
  const asked = (words: string, more = {}) =>
    fetch(`${world.sandbox.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: 'Bearer made-up', 'content-type': 'application/json' },
      body: JSON.stringify({ ...chatOf(promptOf(words)), model: 'gpt-sandbox', ...more }),
    })

  for (const coding of ['gzip', 'deflate', 'br']) {
    it(`compresses whole answers and streams: ${coding}`, async () => {
      for (const stream of [false, true]) {
        const response = await asked(`[answer Good morning] [quirk ${coding}]`, { stream })
        expect(response.headers.get('content-encoding')).to.equal(coding)
        expect(response.headers.get('content-type')).to.match(stream ? /event-stream/ : /json/)
        expect(await response.text()).to.contain('morning')
      }
    })
  }

  it('sends what was not asked for, or under the label of the other', async () => {
    const typeOf = async (words: string, stream: boolean) => {
      const response = await asked(words, { stream })
      return [response.headers.get('content-type'), (await response.text()).slice(0, 5)]
    }
    expect((await typeOf('[quirk always-stream]', false))[1]).to.equal('data:')
    expect((await typeOf('[quirk never-stream]', true))[1]).to.equal('{"id"')
    expect(await typeOf('[quirk stream-label]', false)).to.deep.equal(['text/event-stream', '{"id"'])
  })

  it('is listed in the help and in the documentation', () => {
    const documentation = readFileSync(join(root, 'docs/upstreams/README.md'), 'utf8')
    for (const name of Object.keys(QUIRKS)) {
      expect(steeringHelp()).to.match(new RegExp(`^  ${name} `, 'm'))
      expect(documentation).to.contain(`\`${name}\``)
    }
  })
})
