import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import type OpenAI from 'openai'
import { prompted } from '../../../scripts/harness/calling.ts'
import { callOfResponse } from '../../../src/shared/chat/responses/response.ts'
import { until } from '../../../scripts/harness/until.ts'
import { useGateway, useOneAccount } from '../../support/gateway.ts'
import { asked, clientOf, refusal, addDialects } from './support/responses.ts'
import type { Asked } from './support/responses.ts'

// That it is what its client got: test/upstreams/complete-streams.test.ts.
describe('a response that is stored', () => {
  const gateway = useGateway({ MAX_DIALECT_BODY_BYTES: '2000000' }, addDialects)
  const account = useOneAccount(gateway, 1_000_000)

  const client = (key = account.key): OpenAI => clientOf(gateway, key)
  const ask = (input: Asked['input'], { model = 'native', ...more }: Partial<Asked> = {}) =>
    client().responses.create({ ...asked(model as string, input), ...more })
  const sentFor = (prompt: string): string => JSON.stringify(gateway.sandbox.journal(prompt).at(-1)!.body)
  const statusOf = async (request: PromiseLike<unknown>) => (await refusal(request)).status
  const reference = (id: string) => ({ type: 'item_reference' as const, id })

  for (const model of ['native', 'gpt']) {
    it(`is gone on with by its id, and what was said before is billed, at ${model}`, async () => {
      const first = await ask(prompted('[answer one]'), { model, instructions: 'Of the first turn alone.' })
      const prompt = prompted('[answer two]')
      const second = await ask(prompt, { model, previous_response_id: first.id })
      expect(second.previous_response_id).to.equal(first.id)
      const found = await client().responses.retrieve(second.id)
      expect([found.status, found.output]).to.deep.equal(['completed', second.output])
      expect(sentFor(prompt)).to.contain('[answer one]').and.to.contain('"one"')
      expect(sentFor(prompt)).to.not.contain('previous_response_id').and.to.not.contain('Of the first turn')
      expect(second.usage!.input_tokens).to.be.above(first.usage!.input_tokens)
      const third = await ask(prompted('[answer three]'), { model, previous_response_id: second.id })
      expect((await client().responses.inputItems.list(third.id, { order: 'asc' })).data).to.have.length(5)
    })

    it(`in the background is polled, and costs what it made where it is cancelled, at ${model}`, async () => {
      const begun = await ask(prompted('[answer done]'), { model, background: true })
      expect(begun).to.include({ background: true, model })
      expect(begun.status).to.be.oneOf(['queued', 'in_progress'])
      const poll = () => client().responses.retrieve(begun.id)
      const call = { call_id: callOfResponse(begun.id)! }
      const [input] = await gateway.db('call_results').where(call).pluck<unknown[]>('input')
      expect(input, 'its input is stored before it is answered').to.be.instanceOf(Buffer)
      await until('the response to end', async () => (await poll()).status === 'completed')
      expect((await poll()).output_text).to.equal('done')
      const next = await ask(prompted('[answer next]'), { model, previous_response_id: begun.id })
      expect(next.output_text).to.equal('next')

      const before = await account.balance()
      const prompt = prompted('[tokens 20] [hang-after 5]')
      const { id } = await ask(prompt, { model, background: true })
      await until('the upstream to be asked', () => gateway.sandbox.journal(prompt).length > 0)
      expect(await statusOf(client().responses.inputItems.list(id))).to.equal(404)
      expect(await statusOf(client().responses.delete(id))).to.equal(404)
      expect((await client().responses.cancel(id)).status).to.equal('cancelled')
      expect(await client().responses.retrieve(id)).to.include({ status: 'cancelled' })
      expect(await account.balance()).to.be.below(before)
    })
  }

  it('gives its items where a later input refers to them, and none twice', async () => {
    const { output } = await ask(prompted('[answer one]'))
    const item = reference(output[0]!.id!)
    const prompt = prompted('[answer two]')
    expect((await ask([item, { role: 'user', content: prompt }])).output_text).to.equal('two')
    expect(sentFor(prompt)).to.contain('"text":"one"')
    const refused = await refusal(ask([item, item]))
    expect(refused.status).to.equal(400)
    expect(refused.message).to.match(/Duplicate item/)
  })

  it('is unknown to other accounts, without store, after it was deleted, and where nothing has its id', async () => {
    const mine = await ask(prompted('[answer mine]'))
    const unstored = await ask(prompted('[answer unstored]'), { store: false })
    const deleted = await ask(prompted('[answer deleted]'))
    expect(await client().responses.retrieve(unstored.id)).to.include({ id: unstored.id })
    await client().responses.delete(deleted.id)
    const other = await gateway.account(100_000)
    const balances = [await account.balance(), await other.balance()]
    for (const [key, id] of [
      [other.key, mine.id],
      [account.key, unstored.id],
      [account.key, deleted.id],
      [account.key, 'resp_nothing'],
    ] as const) {
      const { responses } = client(key)
      for (const refused of [
        await refusal(responses.create({ model: 'native', input: 'hello', previous_response_id: id })),
        await refusal(responses.create({ model: 'native', input: [reference(`${id.replace('resp_', 'msg_')}0000`)] })),
      ]) {
        expect(refused).to.include({ status: 400, code: 'previous_response_not_found' })
        expect(refused.message).to.match(/store: false/)
      }
      expect(await statusOf(responses.inputItems.list(id))).to.equal(404)
    }
    for (const [key, id] of [
      [other.key, mine.id],
      [account.key, deleted.id],
    ] as const) {
      expect(await statusOf(client(key).responses.retrieve(id))).to.equal(404)
      expect(await statusOf(client(key).responses.delete(id))).to.equal(404)
    }
    expect([await account.balance(), await other.balance()]).to.deep.equal(balances)
  })

  it('says why it failed, and is no stream in the background', async () => {
    const { headers } = await refusal(ask(prompted('[status 500]')))
    const failed = await client().responses.retrieve(headers!.get('x-call-id')!.replace('call_', 'resp_'))
    expect(failed).to.include({ status: 'failed', model: 'native' })
    expect(failed.error).to.include({ code: 'upstream_failed' })
    const request = { model: 'native', input: 'a', background: true, stream: true } as const
    expect(await statusOf(client().responses.create(request))).to.equal(400)
  })

  it('is cancelled, and stays so, where it had not begun, and costs nothing', async () => {
    const before = await account.balance()
    await gateway.stopWorker()
    try {
      const queued = await ask(prompted('[answer never]'), { background: true })
      expect((await client().responses.cancel(queued.id)).status).to.equal('cancelled')
      expect(await client().responses.retrieve(queued.id)).to.include({ status: 'cancelled', error: null })
    } finally {
      await gateway.startWorker()
    }
    expect(await account.balance()).to.equal(before)
  })

  it('is paid from its input on if an upstream was sent it, at whichever moment it is cancelled', async () => {
    const asking = Array.from({ length: 20 }, async (_one, ms) => {
      const own = await gateway.account(1_000_000)
      const { responses } = client(own.key)
      const prompt = prompted('[hang-after 5]')
      const input = `${prompt} ${'many words '.repeat(2000)}`
      const { id } = await responses.create({ model: ms % 2 ? 'native' : 'gpt', background: true, input })
      await pause(ms)
      expect((await responses.cancel(id)).status).to.equal('cancelled')
      const wasSent = () => gateway.sandbox.journal(prompt).length > 0
      if ((await own.balance()) === 1_000_000) return expect(wasSent(), `cancelled after ${ms} ms`).to.equal(false)
      await until('the upstream to have what was paid', wasSent)
      const [counted] = await gateway.db('calls').where({ account_id: own.id }).pluck<number[]>('input_tokens')
      expect(counted, 'all of its input').to.be.above(2000)
    })
    await Promise.all(asking)
  })

  it('is not gone on with where all of it is longer than a body may be', async () => {
    const { responses } = client((await gateway.account(1_000_000_000)).key)
    const request = asked('native', `[answer long] ${'x'.repeat(1_200_000)}`)
    const first = await responses.create(request)
    const refused = await refusal(responses.create({ ...request, previous_response_id: first.id }))
    expect(refused).to.include({ status: 400, code: 'context_length_exceeded' })
  })
})
