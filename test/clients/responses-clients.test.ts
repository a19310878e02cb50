import { createOpenAI } from '@ai-sdk/openai'
import { Agent, Runner, setTracingDisabled, tool as agentTool, OpenAIResponsesModel } from '@openai/agents'
import { generateText, stepCountIs, streamText, tool as aiTool } from 'ai'
import { expect } from 'chai'
import OpenAI from 'openai'
import { z } from 'zod'
import { prompted } from '../../scripts/harness/calling.ts'
import { MODELS, addDialects } from '../api/v1/support/responses.ts'
import { useGateway, useOneAccount } from '../support/gateway.ts'

/** Calls of a tool end once its result is there. */
const CALL = '[call weather {"city":"Lucerne"}]'

describe('a client that speaks Responses by default', () => {
  const gateway = useGateway({}, addDialects)
  const account = useOneAccount(gateway, 100_000_000)
  let baseURL: string
  before(async () => {
    baseURL = `${gateway.url}/v1`
  })

  for (const model of MODELS) {
    describe(`@ai-sdk/openai, its default provider, over ${model}`, () => {
      const provider = () => createOpenAI({ baseURL, apiKey: account.key })(model)
      const tools = {
        weather: aiTool({
          description: 'The weather of a city.',
          inputSchema: z.object({ city: z.string() }),
          execute: () => 'sunny',
        }),
      }

      it('loops over a tool in two steps with store unset, whole and streamed', async () => {
        const asked = { tools, stopWhen: stepCountIs(2) }
        const whole = await generateText({ ...asked, model: provider(), prompt: prompted(`${CALL} [reasoning 3]`) })
        expect(whole.steps).to.have.length(2)
        expect(whole.steps[0]!.toolResults[0]).to.deep.include({ toolName: 'weather', output: 'sunny' })
        expect(whole.text).to.match(/\w/)
        const streamed = streamText({ ...asked, model: provider(), prompt: prompted(`${CALL} [reasoning 3]`) })
        await streamed.consumeStream()
        expect(await streamed.steps).to.have.length(2)
        expect(await streamed.text).to.match(/\w/)
        expect((await streamed.totalUsage).outputTokens).to.be.above(0)
      })

      it('goes on with the messages of an earlier answer', async () => {
        const first = await generateText({ model: provider(), prompt: prompted('[answer one]') })
        const next = { role: 'user' as const, content: prompted('[answer two]') }
        const second = await generateText({ model: provider(), messages: [...first.response.messages, next] })
        expect(second.text).to.equal('two')
      })
    })

    describe(`@openai/agents, its default model, over ${model}`, () => {
      before(() => setTracingDisabled(true))

      const weather = agentTool({
        name: 'weather',
        description: 'The weather of a city.',
        parameters: z.object({ city: z.string() }),
        execute: () => 'sunny',
      })
      const agent = () => {
        const client = new OpenAI({ baseURL, apiKey: account.key, maxRetries: 0 })
        const own = new OpenAIResponsesModel(client as never, model)
        return new Agent({ name: 'test', instructions: 'Be brief.', model: own, tools: [weather] })
      }

      it('runs an agent with a tool, and goes on from its history and by the id of its last response', async () => {
        const runner = new Runner()
        const first = await runner.run(agent(), prompted(CALL))
        expect(first.finalOutput).to.match(/\w/)
        expect(first.newItems.map(({ type }) => type)).to.include('tool_call_output_item')
        const history = [...first.history, { role: 'user' as const, content: prompted('[answer two]') }]
        expect((await runner.run(agent(), history)).finalOutput).to.equal('two')
        const previousResponseId = first.lastResponseId!
        const third = await runner.run(agent(), prompted('[answer three]'), { previousResponseId })
        expect(third.finalOutput).to.equal('three')
      })
    })
  }
})
