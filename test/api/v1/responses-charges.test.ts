import { expect } from 'chai'
import type OpenAI from 'openai'
import type { ResponseStreamEvent } from 'openai/resources/responses/responses'
import { prompted } from '../../../scripts/harness/calling.ts'
import { anAccount, balanceOf } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import { until } from '../../../scripts/harness/until.ts'
import { useGateway } from '../../support/gateway.ts'
import { MODELS, asked, clientOf, refusal, addDialects, streamed } from './support/responses.ts'

describe('what a response costs', () => {
  const gateway = useGateway({}, addDialects)
  let account: TestAccount
  before(async () => {
    account = await anAccount(gateway.db, 1_000_000)
  })

  const client = (key = account.key): OpenAI => clientOf(gateway, key)

  it('lowers the limit of the output to what can be paid, and refuses below that as a spent quota', async () => {
    const poor = await anAccount(gateway.db, 20_000)
    const { response } = await client(poor.key)
      .responses.create({ model: 'claude', input: prompted('[answer short]') })
      .withResponse()
    expect(Number(response.headers.get('x-max-output-tokens'))).to.be.within(4096, 6700)
    const broke = await anAccount(gateway.db, 5000)
    const refused = await refusal(client(broke.key).responses.create({ model: 'claude', input: 'hello' }))
    expect([refused.status, refused.type, refused.code]).to.deep.equal([
      429,
      'insufficient_quota',
      'insufficient_credits',
    ])
    expect(refused.headers?.get('x-should-retry')).to.equal('false')
  })

  it('closes what is open of a stream that its deadline cuts, and charges what was delivered', async () => {
    for (const model of MODELS) {
      const before = await balanceOf(gateway.db, account.id)
      const request = asked(`${model}-hasty`, prompted('[tokens 20] [hang-after 5]'))
      const { response, types, events } = await streamed(client(), request)
      expect(types.slice(-4), model).to.deep.equal([
        'response.output_text.done',
        'response.content_part.done',
        'response.output_item.done',
        'response.incomplete',
      ])
      expect(response.incomplete_details).to.deep.equal({ reason: 'max_output_tokens' })
      const said = events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join('')
      expect(response.output_text).to.equal(said).and.to.match(/\w/)
      const { credits } = response.usage as unknown as { credits: number }
      expect(await balanceOf(gateway.db, account.id)).to.equal(before - credits)
    }
  })

  it('charges a client that leaves a stream what was delivered, once', async () => {
    for (const model of MODELS) {
      const before = await balanceOf(gateway.db, account.id)
      const prompt = prompted('[tokens 40] [chunks 40 50]')
      const stream = await client().responses.create({ ...asked(model, prompt), stream: true } as never)
      let left = 0
      for await (const event of stream as unknown as AsyncIterable<ResponseStreamEvent>)
        if (event.type === 'response.output_text.delta' && ++left === 3) break
      const calls = gateway.db('calls').where({ account_id: account.id }).orderBy('id', 'desc')
      const ended = await until('the call to end', async () => {
        const last = await calls.clone().first<{ finished_at: Date | null; credits: string }>('finished_at', 'credits')
        return last?.finished_at ? last : null
      })
      expect(Number(ended.credits), model).to.be.above(0)
      expect(await balanceOf(gateway.db, account.id)).to.equal(before - Number(ended.credits))
    }
  })

  for (const [what, more, status, code] of [
    ['an unknown field', { foo: 1 }, 400, 'invalid_request'],
    ['an unknown model', { model: 'nobody' }, 404, 'model_not_found'],
  ] as const)
    it(`refuses ${what}, uncharged`, async () => {
      const before = await balanceOf(gateway.db, account.id)
      const refused = await refusal(client().responses.create({ ...asked('claude', 'hello'), ...more } as never))
      expect([refused.status, refused.code]).to.deep.equal([status, code])
      expect(await balanceOf(gateway.db, account.id)).to.equal(before)
    })
})
