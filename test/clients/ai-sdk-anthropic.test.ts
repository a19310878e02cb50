import { createAnthropic } from '@ai-sdk/anthropic'
import type { ModelMessage } from 'ai'
import { generateText, Output, stepCountIs, streamText, tool } from 'ai'
import { expect } from 'chai'
import { z } from 'zod'
import { prompted } from '../../scripts/harness/calling.ts'
import { anAccount } from '../../scripts/harness/factories.ts'
import type { TestAccount } from '../../scripts/harness/factories.ts'
import { claudeAndGpt } from '../api/v1/support/message-models.ts'
import { useGateway } from '../support/gateway.ts'

const THOUGHT = 'One after the other.'

describe('the AI SDK with @ai-sdk/anthropic', () => {
  const gateway = useGateway({}, claudeAndGpt)
  let account: TestAccount
  before(async () => {
    account = await anAccount(gateway.db, 1_000_000)
  })

  /** Steps that call both tools, and a last one that answers. Each is steered by a text behind the results. */
  function askedOf(model: string) {
    const weather = tool({ inputSchema: z.object({ city: z.string() }), execute: ({ city }) => `sunny in ${city}` })
    const time = tool({ inputSchema: z.object({}), execute: () => 'noon' })
    const calling = () => prompted(`[tools 2] [thoughts ${THOUGHT}]`)
    const prompts = [calling(), calling(), prompted(`[answer It is sunny.] [thoughts ${THOUGHT}]`)]
    const turn = (number: number): ModelMessage => ({ role: 'user', content: prompts[number]! })
    const asked = {
      model: createAnthropic({ baseURL: `${gateway.url}/v1`, apiKey: account.key })(model),
      tools: { weather, time },
      messages: [turn(0)],
      maxRetries: 0,
      maxOutputTokens: 2000,
      stopWhen: stepCountIs(3),
      providerOptions: { anthropic: { thinking: { type: 'enabled' as const, budgetTokens: 1024 } } },
      prepareStep: ({ stepNumber, messages }: { stepNumber: number; messages: ModelMessage[] }) =>
        stepNumber === 0 ? {} : { messages: [...messages, turn(stepNumber)] },
    }
    return { asked, lastSent: () => gateway.sandbox.journal(prompts[2]).at(-1)!.body as { messages: Turn[] } }
  }

  type Block = { type: string; [field: string]: unknown }
  type Turn = { role: string; content: Block[]; reasoning_content?: string }

  for (const stream of [false, true]) {
    for (const model of ['claude', 'gpt']) {
      const over = model === 'claude' ? 'an upstream of the same dialect' : 'chat completions'

      it(`thinks and calls tools over three steps, ${stream ? 'streamed' : 'whole'}, over ${over}`, async () => {
        const { asked, lastSent } = askedOf(model)
        const streamed = stream ? streamText(asked) : null
        await streamed?.consumeStream()
        const { steps, text } = streamed
          ? { steps: await streamed.steps, text: await streamed.text }
          : await generateText(asked)
        expect(text).to.equal('It is sunny.')
        expect(steps.map(({ finishReason }) => finishReason)).to.deep.equal(['tool-calls', 'tool-calls', 'stop'])
        for (const { reasoningText, usage } of steps) {
          expect(reasoningText).to.equal(THOUGHT)
          expect([usage.inputTokens! > 0, usage.outputTokens! > 0]).to.deep.equal([true, true])
        }
        for (const { toolResults } of steps.slice(0, 2)) {
          expect(toolResults.map(({ toolName, output }) => [toolName, output])).to.deep.equal([
            ['weather', 'sunny in sandbox'],
            ['time', 'noon'],
          ])
        }
        const { messages } = lastSent()
        if (model === 'gpt') {
          expect(messages.filter(({ role }) => role === 'tool')).to.have.lengthOf(4)
          const thoughts = messages.flatMap(({ reasoning_content: thought }) => thought ?? [])
          expect(thoughts).to.deep.equal([THOUGHT, THOUGHT])
          return
        }
        // The sandbox has checked their signatures.
        const thoughts = messages.flatMap(({ content }) => content.filter(({ type }) => type === 'thinking'))
        expect(thoughts.map(({ thinking }) => thinking)).to.deep.equal([THOUGHT, THOUGHT])
      })
    }
  }

  it('makes an object by a schema', async () => {
    const { output } = await generateText({
      model: askedOf('claude').asked.model,
      maxOutputTokens: 500,
      output: Output.object({ schema: z.object({ city: z.string() }) }),
      prompt: prompted(),
    })
    expect(output.city).to.be.a('string')
  })

  it('reads the usage of a cache, and sends its marks', async () => {
    const { asked } = askedOf('claude')
    const mark = { anthropic: { cacheControl: { type: 'ephemeral' as const } } }
    const once = async () => {
      const { usage } = await generateText({
        model: asked.model,
        maxOutputTokens: 50,
        system: { role: 'system', content: `${account.id} ${'long '.repeat(200)}`, providerOptions: mark },
        prompt: prompted('[answer fine]'),
      })
      return usage
    }
    const [first, second] = [await once(), await once()]
    expect(first.inputTokenDetails.cacheWriteTokens).to.be.above(200)
    expect(second.inputTokenDetails.cacheReadTokens).to.equal(first.inputTokenDetails.cacheWriteTokens)
    expect(second.inputTokens).to.be.above(second.inputTokenDetails.cacheReadTokens!)
  })
})
