import { expect } from 'chai'
import type OpenAI from 'openai'
import { zodTextFormat } from 'openai/helpers/zod'
import { z } from 'zod'
import { prompted } from '../../../scripts/harness/calling.ts'
import { anAccount, balanceOf } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import { get } from '../../../scripts/harness/http.ts'
import { useGateway } from '../../support/gateway.ts'
import { MODELS, UPSTREAMS, asked, clientOf, refusal, addDialects, streamed } from './support/responses.ts'

const WEATHER: OpenAI.Responses.FunctionTool = {
  type: 'function',
  name: 'get_weather',
  description: 'The weather of a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  strict: false,
}

describe('POST /v1/responses', () => {
  const gateway = useGateway({}, addDialects)
  let account: TestAccount
  before(async () => {
    account = await anAccount(gateway.db, 1_000_000)
  })

  const client = (key = account.key): OpenAI => clientOf(gateway, key)

  for (const [model, dialect] of Object.entries(UPSTREAMS)) {
    describe(`over an upstream of ${dialect}`, () => {
      it('answers whole, with what it cost', async () => {
        const before = await balanceOf(gateway.db, account.id)
        const { data, response } = await client()
          .responses.create(asked(model, prompted('[answer Good morning]')))
          .withResponse()
        expect(data).to.deep.include({ object: 'response', model, status: 'completed', error: null })
        expect(data.id).to.equal(response.headers.get('x-call-id')!.replace('call_', 'resp_'))
        expect(data.output_text).to.equal('Good morning')
        const usage = data.usage as unknown as Record<string, number>
        expect(usage.credits).to.equal(usage.input_tokens! + 3 * usage.output_tokens!)
        expect(usage.balance).to.equal(before - usage.credits!)
        expect(data).to.not.have.property('ok')
        expect(response.headers.get('x-max-output-tokens')).to.equal('500')
      })

      it('streams the same response, its events in their order and numbered without gaps', async () => {
        const { events, response, types } = await streamed(
          client(),
          asked(model, prompted('[answer Good morning to you] [tokens 4]')),
        )
        expect(response.output_text).to.equal('Good morning to you')
        expect(types.filter((type, at) => type !== types[at - 1])).to.deep.equal([
          'response.created',
          'response.in_progress',
          'response.output_item.added',
          'response.content_part.added',
          'response.output_text.delta',
          'response.output_text.done',
          'response.content_part.done',
          'response.output_item.done',
          'response.completed',
        ])
        expect(events.map((event) => event.sequence_number)).to.deep.equal(events.map((_, at) => at))
        expect((events[0] as OpenAI.Responses.ResponseCreatedEvent).response).to.include({
          model,
          status: 'in_progress',
        })
        expect(response.usage?.output_tokens).to.be.above(0)
      })

      it('says in its form that it was refunded when its upstream fails, in mid-stream too', async () => {
        const before = await balanceOf(gateway.db, account.id)
        const failed = await refusal(client().responses.create(asked(model, prompted('[status 500]'))))
        expect([failed.status, failed.type, failed.code]).to.deep.equal([502, 'server_error', 'upstream_failed'])
        const { response, types } = await streamed(client(), asked(model, prompted('[error-after 2] [tokens 9]')))
        expect(response).to.include({ status: 'failed' })
        expect(response.error).to.include({ code: 'server_error' })
        expect(types.filter((type) => /completed|incomplete|failed/.test(type))).to.have.length(1)
        expect(await balanceOf(gateway.db, account.id)).to.equal(before)
      })

      it('is fetched and replayed in its dialect', async () => {
        const request = asked(model, prompted('[answer once]'))
        const headers = { 'Idempotency-Key': prompted('key') }
        const first = await client().responses.create(request, { headers }).withResponse()
        const id = first.response.headers.get('x-call-id')!
        const { output_text: _text, ...body } = first.data
        expect((await get(`${gateway.url}/v1/calls/${id}`, account.key)).json).to.deep.include({ id: body.id })
        const again = await client().responses.create(request, { headers })
        expect(again.output).to.deep.equal(first.data.output)
        const replayed = await client()
          .responses.stream(request as never, { headers })
          .finalResponse()
        expect(replayed.output_text).to.equal('once')
      })
    })
  }

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
    for (const model of MODELS) {
      for (const [word, tool, call] of [
        ['[tool apply_patch]', {}, { type: 'custom_tool_call', name: 'apply_patch', input: 'sandbox' }],
        [
          model === 'native' ? '[tool get_weather]' : '[tool agents__get_weather]',
          {},
          { type: 'function_call', name: 'get_weather', namespace: 'agents' },
        ],
      ] as const) {
        for (const isAdditional of [false, true]) {
          const prompt = { role: 'user', content: prompted(word) }
          const given = isAdditional
            ? asked(model, [{ type: 'additional_tools', role: 'developer', tools }, prompt] as never)
            : asked(model, [prompt] as never, { tools })
          const whole = await client().responses.create(given).withResponse()
          expect(whole.response.headers.get('x-tollgate-tools-dropped')).to.equal('web_search')
          const { response } = await streamed(client(), given)
          for (const { output } of [whole.data, response]) expect(output[0]).to.deep.include({ ...tool, ...call })
          const [called] = response.output as unknown as { call_id: string }[]
          const answered = { type: call.type.concat('_output'), call_id: called!.call_id, output: 'done' }
          const next = [...(given.input as []), called, answered, { role: 'user', content: prompted('[answer ok]') }]
          const last = await client().responses.create({ ...given, input: next as never })
          expect(last.output_text).to.equal('ok')
        }
      }
    }
  })

  it('ends an answer that ran into its limit as incomplete', async () => {
    for (const model of MODELS) {
      const request = asked(model, prompted('[tokens 40]'), { max_output_tokens: 16 })
      const whole = await client().responses.create(request)
      const { response, types } = await streamed(client(), request)
      for (const one of [whole, response]) {
        expect(one.status).to.equal('incomplete')
        expect(one.incomplete_details).to.deep.equal({ reason: 'max_output_tokens' })
      }
      expect(types.at(-1)).to.equal('response.incomplete')
    }
  })

  it('sends an upstream of the same dialect the body as it came, but for what is listed', async () => {
    const prompt = prompted('[answer fine]')
    const body = {
      model: 'native',
      instructions: 'Be brief.',
      input: [
        { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'one' }], id: 'msg_1' },
        { type: 'additional_tools', id: 'at_1', role: 'developer', tools: [WEATHER] },
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: prompt }] },
      ],
      tools: [{ type: 'custom', name: 'apply_patch', description: 'Patches.' }, { type: 'web_search' }],
      tool_choice: 'auto',
      parallel_tool_calls: true,
      reasoning: { effort: 'high', summary: 'auto', context: 'all_turns' },
      store: true,
      include: ['reasoning.encrypted_content'],
      prompt_cache_key: 'session',
      service_tier: 'auto',
      text: { verbosity: 'low' },
      client_metadata: { a: 'b' },
    }
    const answer = await client().responses.create(body as never)
    expect(answer).to.include({ store: true, instructions: null })
    const { service_tier: _tier, prompt_cache_key: _own, ...rest } = body
    const { prompt_cache_key: sent, ...asked } = gateway.sandbox.journal(prompt).at(-1)!.body as Record<string, unknown>
    expect(sent, 'an HMAC').to.match(/^[\w-]{43}$/)
    expect(asked).to.deep.equal({
      ...rest,
      model: 'sandbox/native',
      tools: body.tools.slice(0, 1),
      max_output_tokens: 32_768,
      service_tier: 'default',
      store: false,
      // So long an answer is read as a stream, whoever waits for it.
      stream: true,
    })
  })

  it('never sends the encrypted_content of one route to another, and answers all the same', async () => {
    for (const isStreamed of [false, true]) {
      const request = asked('native', prompted('[reasoning 5] [answer deep]'), {
        include: ['reasoning.encrypted_content'],
      })
      const first = isStreamed ? (await streamed(client(), request)).response : await client().responses.create(request)
      const [thought] = first.output as OpenAI.Responses.ResponseReasoningItem[]
      expect(thought!.type).to.equal('reasoning')
      expect(thought!.encrypted_content).to.be.a('string').that.does.not.contain('sandbox')
      for (const model of ['native', 'other', 'claude', 'gpt']) {
        const prompt = prompted('[answer on]')
        const next = await client().responses.create({
          ...asked(model, [...(first.output as never[]), { role: 'user', content: prompt }]),
        })
        expect(next.output_text).to.equal('on')
        const sent = JSON.stringify(gateway.sandbox.journal(prompt).at(-1)!.body)
        expect(sent.includes('sandbox-thought-'), model).to.equal(model === 'native')
        expect(sent).to.not.contain(thought!.encrypted_content)
      }
    }
  })
})
