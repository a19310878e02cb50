import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { ChatOpenAI } from '@langchain/openai'
import { Agent, MemorySession, OpenAIChatCompletionsModel, Runner, setTracingDisabled } from '@openai/agents'
import { generateObject, generateText, stepCountIs, streamText, tool as aiTool } from 'ai'
import { expect } from 'chai'
import { createAgent, tool as langchainTool } from 'langchain'
import OpenAI6 from 'openai'
import OpenAI7 from 'openai-7'
import { z } from 'zod'
import { prompted } from '../../scripts/harness/calling.ts'
import { useAccount, useGateway } from '../support/gateway.ts'

const MODEL = 'sandbox-chat'

describe('a client as it is on npm', () => {
  const gateway = useGateway({ GATEWAY_RATE_LIMIT: '1000' })
  const account = useAccount(gateway, 10_000)
  let baseURL: string
  before(async () => {
    baseURL = `${gateway.url}/v1`
  })

  for (const [name, Client] of [
    ['openai 6', OpenAI6],
    ['openai 7', OpenAI7 as unknown as typeof OpenAI6],
  ] as const) {
    describe(name, () => {
      const client = () => new Client({ baseURL, apiKey: account.key, maxRetries: 0 })
      const asked = (content: string) => ({ model: MODEL, messages: [{ role: 'user' as const, content }] })

      it('chats, and sends an answer back as it came', async () => {
        const first = await client().chat.completions.create(asked(prompted('[answer one]')))
        const { message } = first.choices[0]!
        expect(message.content).to.equal('one')
        const messages = [...asked('x').messages, message, { role: 'user' as const, content: prompted('[answer two]') }]
        const second = await client().chat.completions.create({ model: MODEL, messages })
        expect(second.choices[0]!.message.content).to.equal('two')
      })

      it('reads choices[0] of every chunk of a stream', async () => {
        const stream = await client().chat.completions.create({ ...asked(prompted('[answer one two]')), stream: true })
        let text = ''
        for await (const chunk of stream) text += chunk.choices[0]!.delta.content ?? ''
        expect(text).to.equal('one two')
      })
    })
  }

  describe('@openai/agents with chat completions', () => {
    before(() => setTracingDisabled(true))

    const agent = () =>
      new Agent({
        name: 'test',
        instructions: 'Be brief.',
        model: new OpenAIChatCompletionsModel(
          new OpenAI6({ baseURL, apiKey: account.key, maxRetries: 0 }) as never,
          MODEL,
        ),
      })

    for (const stream of [false, true]) {
      it(`holds a conversation of three turns in a session, ${stream ? 'streamed' : 'whole'}`, async () => {
        const session = new MemorySession()
        const runner = new Runner()
        const one = agent()
        for (const word of ['one', 'two', 'three']) {
          const words = prompted(`[answer ${word}]`)
          if (stream) {
            const result = await runner.run(one, words, { session, stream: true })
            await result.completed
            expect(result.finalOutput).to.equal(word)
          } else expect((await runner.run(one, words, { session })).finalOutput).to.equal(word)
        }
      })
    }

    it('goes on from the history of its result', async () => {
      const first = await new Runner().run(agent(), prompted('[answer one]'))
      const next = [...first.history, { role: 'user' as const, content: prompted('[answer two]') }]
      expect((await new Runner().run(agent(), next)).finalOutput).to.equal('two')
    })
  })

  describe('LangChain', () => {
    const model = (more: object = {}) =>
      new ChatOpenAI({ model: MODEL, apiKey: account.key, maxRetries: 0, configuration: { baseURL }, ...more })

    it('runs an agent with a tool over two turns', async () => {
      const weather = langchainTool(() => 'sunny', {
        name: 'weather',
        description: 'The weather of a city.',
        schema: z.object({ city: z.string() }),
        // The sandbox calls its tool each time that it is asked.
        returnDirect: true,
      })
      const agent = createAgent({ model: model(), tools: [weather] })
      const first = await agent.invoke({ messages: [{ role: 'user', content: prompted('[tool weather]') }] })
      expect(first.messages.map((message) => message.getType())).to.include.members(['human', 'ai', 'tool'])
      const second = await agent.invoke({
        messages: [...first.messages, { role: 'user', content: prompted('[answer done]') }],
      })
      expect(second.messages.at(-1)!.content).to.equal('done')
    })

    it('streams, with usage', async () => {
      let text = ''
      let tokens = 0
      for await (const chunk of await model().stream(prompted('[answer one two] [usage 3 4]'))) {
        text += chunk.text
        tokens += chunk.usage_metadata?.total_tokens ?? 0
      }
      expect([text, tokens]).to.deep.equal(['one two', 7])
    })
  })

  for (const [name, modelOf] of [
    ['@ai-sdk/openai, openai.chat', () => createOpenAI({ baseURL, apiKey: account.key }).chat(MODEL)],
    [
      '@ai-sdk/openai-compatible',
      () =>
        createOpenAICompatible({
          name: 'tollgate',
          baseURL,
          apiKey: account.key,
          supportsStructuredOutputs: true,
          includeUsage: true,
        })(MODEL),
    ],
  ] as const) {
    describe(`the AI SDK with ${name}`, () => {
      it('generates a text, streams one, and makes an object', async () => {
        const whole = await generateText({ model: modelOf(), prompt: prompted('[answer one]') })
        expect(whole.text).to.equal('one')
        const streamed = streamText({ model: modelOf(), prompt: prompted('[answer one two] [usage 3 4]') })
        expect(await streamed.text).to.equal('one two')
        expect(await streamed.usage).to.include({ inputTokens: 3, outputTokens: 4 })
        const made = await generateObject({ model: modelOf(), schema: z.object({ a: z.string() }), prompt: prompted() })
        expect(made.object.a).to.be.a('string')
      })

      it('runs a tool, and goes on from the messages of its answer', async () => {
        const tools = {
          weather: aiTool({
            description: 'The weather of a city.',
            inputSchema: z.object({ city: z.string() }),
            execute: () => 'sunny',
          }),
        }
        const prompt = prompted('[tool weather]')
        const first = await generateText({ model: modelOf(), tools, stopWhen: stepCountIs(2), prompt })
        expect(first.steps[0]!.toolResults).to.have.lengthOf(1)
        const second = await generateText({
          model: modelOf(),
          messages: [
            { role: 'user', content: prompt },
            ...first.response.messages,
            { role: 'user', content: prompted('[answer done]') },
          ],
        })
        expect(second.text).to.equal('done')
      })
    })
  }
})
