import { expect } from 'chai'
import { saying, startScripted } from '../../upstreams/support/scripted.ts'
import type { Scripted } from '../../upstreams/support/scripted.ts'
import type { Protocol } from '../../../src/shared/catalogue/catalogue.ts'
import { chatOf, choiceOf, failureOf, promptOf, routeTo, startWorld } from '../upstreams/sandbox-upstreams.ts'
import type { World } from '../upstreams/sandbox-upstreams.ts'
import { readAnswer } from './reading.ts'
import type { ReadAnswer, Way } from './reading.ts'

describe('a chat that ends by itself', () => {
  let world: World
  let scripted: Scripted
  before(async () => {
    world = await startWorld()
    scripted = await startScripted()
  })
  after(async () => {
    await scripted.close()
    await world.close()
  })

  /** Reads what the sandbox does at these words. */
  const read = (words: string, way: Way, protocol: Protocol = 'openai'): Promise<ReadAnswer> =>
    readAnswer(world.upstreams, world.context(protocol).route, chatOf(promptOf(words)), way)
  /** Reads this whole answer. */
  const readJson = (answer: object, way: Way, protocol: Protocol = 'openai'): Promise<ReadAnswer> => {
    const prompt = scripted.prompt(saying(JSON.stringify(answer)))
    return readAnswer(world.upstreams, routeTo(protocol, scripted.origin), chatOf(prompt), way)
  }
  const choiceIn = ({ answer }: ReadAnswer) => choiceOf({ answer, usage: null })

  for (const protocol of ['openai', 'anthropic', 'responses', 'openrouter'] as const)
    it(`says nothing, and is an answer, if it has a finish reason and a usage: ${protocol}`, async () => {
      for (const way of ['W', 'S'] as const) {
        const got = await read('[tokens 0] [usage 100 0]', way, protocol)
        expect(choiceIn(got), way).to.deep.include({ finish_reason: 'stop' })
        expect(choiceIn(got).message.content ?? '', way).to.equal('')
        expect(got.tokens, way).to.include({ input: 100, output: 0 })
      }
    })

  it('is not an answer if nothing says that the model stopped', async () => {
    const usage = { input_tokens: 9, output_tokens: 0 }
    await failureOf(readJson({ type: 'message', content: [], stop_reason: null, usage }, 'W', 'anthropic'))
    await failureOf(readJson({ type: 'message', content: [], stop_reason: 'end_turn' }, 'W', 'anthropic'))
    await failureOf(readJson({ choices: [], usage: { prompt_tokens: 9, completion_tokens: 0, total_tokens: 9 } }, 'W'))
  })
})
