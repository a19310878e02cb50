import { expect } from 'chai'
import type OpenAI from 'openai'
import { zodTextFormat } from 'openai/helpers/zod'
import { z } from 'zod'
import { prompted } from '../../../scripts/harness/calling.ts'
import { useGateway, useOneAccount } from '../../support/gateway.ts'
import { MODELS, asked, clientOf, addDialects, streamed } from './support/responses.ts'

const WEATHER: OpenAI.Responses.FunctionTool = {
  type: 'function',
  name: 'get_weather',
  description: 'The weather of a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  strict: false,
}

// Whole and streamed answers of each upstream: dialects.test.ts. The body as it came: passed-bytes.test.ts.
describe('POST /v1/responses', () => {
  const gateway = useGateway({}, addDialects)
  const account = useOneAccount(gateway, 1_000_000)
  const client = (): OpenAI => clientOf(gateway, account.key)

  it('answers in the form of a schema', async () => {
    const Weather = z.object({ city: z.string(), degrees: z.number() })
    const parsed = await client().responses.parse({
      ...asked('gpt', prompted('the weather')),
      text: { format: zodTextFormat(Weather, 'weather') },
    })
    expect(Weather.parse(parsed.output_parsed)).to.have.property('city')
  })

  it('sends its tools under plain names, and calls them by the names that they came with', async () => {
    const tools = [
      { type: 'custom', name: 'apply_patch', format: { type: 'grammar', syntax: 'lark', definition: 'start: /.+/' } },
      { type: 'namespace', name: 'agents', description: 'Agents.', tools: [WEATHER] },
      { type: 'web_search', external_web_access: true },
    ] as never
    const patch = { type: 'custom_tool_call', name: 'apply_patch', input: 'sandbox' }
    const weather = { type: 'function_call', name: 'get_weather', namespace: 'agents' }
    for (const model of MODELS)
      for (const [name, call] of [
        ['apply_patch', patch],
        [model === 'native' ? 'get_weather' : 'agents__get_weather', weather],
      ] as const)
        for (const isAdditional of [false, true]) {
          const prompt = { role: 'user', content: prompted(`[tool ${name}]`) }
          const given = isAdditional
            ? asked(model, [{ type: 'additional_tools', role: 'developer', tools }, prompt] as never)
            : asked(model, [prompt] as never, { tools })
          const whole = await client().responses.create(given).withResponse()
          expect(whole.response.headers.get('x-tollgate-tools-dropped')).to.equal('web_search')
          const { response } = await streamed(client(), given)
          for (const { output } of [whole.data, response]) expect(output[0]).to.deep.include(call)
          const [called] = response.output as unknown as { call_id: string }[]
          const answered = { type: call.type.concat('_output'), call_id: called!.call_id, output: 'done' }
          const next = [...(given.input as []), called, answered, { role: 'user', content: prompted('[answer ok]') }]
          const last = await client().responses.create({ ...given, input: next as never })
          expect(last.output_text).to.equal('ok')
        }
  })

  it('ends an answer that ran into its limit as incomplete', async () => {
    for (const model of MODELS) {
      const request = asked(model, prompted('[tokens 40]'), { max_output_tokens: 16 })
      const { response, types } = await streamed(client(), request)
      for (const { status, incomplete_details: details } of [await client().responses.create(request), response])
        expect([status, details]).to.deep.equal(['incomplete', { reason: 'max_output_tokens' }])
      expect(types.at(-1)).to.equal('response.incomplete')
    }
  })

  it('sends an upstream of the same dialect an HMAC of its session, and reads a long answer as a stream', async () => {
    const prompt = prompted('[answer fine]')
    const body = { model: 'native', instructions: 'Be brief.', input: prompt, prompt_cache_key: 'session', store: true }
    expect(await client().responses.create(body as never)).to.include({ store: true, instructions: null })
    const sent = gateway.sandbox.journal(prompt).at(-1)!.body as Record<string, unknown>
    expect(sent.prompt_cache_key).to.match(/^[\w-]{43}$/)
    const own = {
      model: 'sandbox/native',
      max_output_tokens: 32_768,
      service_tier: 'default',
      store: false,
      stream: true,
    }
    expect(sent).to.include({ instructions: 'Be brief.', ...own })
  })

  it('never sends the encrypted_content of one route to another, and answers all the same', async () => {
    for (const isStreamed of [false, true]) {
      const request = asked('native', prompted('[reasoning 5] [answer deep]'), {
        include: ['reasoning.encrypted_content'],
      })
      const first = isStreamed ? (await streamed(client(), request)).response : await client().responses.create(request)
      const [thought] = first.output as OpenAI.Responses.ResponseReasoningItem[]
      expect(thought!.encrypted_content).to.be.a('string').that.does.not.contain('sandbox')
      for (const model of ['native', 'other', 'claude', 'gpt']) {
        const prompt = prompted('[answer on]')
        const input = [...(first.output as never[]), { role: 'user' as const, content: prompt }]
        expect((await client().responses.create(asked(model, input))).output_text).to.equal('on')
        const sent = JSON.stringify(gateway.sandbox.journal(prompt).at(-1)!.body)
        expect(sent.includes('sandbox-thought-'), model).to.equal(model === 'native')
        expect(sent).to.not.contain(thought!.encrypted_content)
      }
    }
  })
})
