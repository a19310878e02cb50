import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import type OpenAI from 'openai'
import { prompted } from '../../../scripts/harness/calling.ts'
import { balanceOf } from '../../../scripts/harness/factories.ts'
import { callOfResponse } from '../../../src/shared/chat/responses/response.ts'
import { until } from '../../../scripts/harness/until.ts'
import { useGateway } from '../../support/gateway.ts'
import type { Caller } from '../../support/caller.ts'
import { clientOf, refusal, addDialects } from './support/responses.ts'
import type { Asked } from './support/responses.ts'

describe('a response that is stored', () => {
  const gateway = useGateway({ MAX_DIALECT_BODY_BYTES: '2000000' }, addDialects)
  let account: Caller
  before(async () => {
    account = await gateway.account(1_000_000)
  })

  const client = (key = account.key): OpenAI => clientOf(gateway, key)

  const ask = (input: Asked['input'], more: Partial<Asked> = {}) =>
    client().responses.create({ model: 'native', max_output_tokens: 100, input, ...more })

  for (const model of ['native', 'gpt']) {
    it(`is what its client got, item by item, from ${model}`, async () => {
      for (const isStreamed of [false, true]) {
        const request = { model, max_output_tokens: 100, input: prompted('[answer kept]') }
        const response = isStreamed
          ? await client()
              .responses.stream(request as never)
              .finalResponse()
          : await client().responses.create(request)
        const found = await client().responses.retrieve(response.id)
        const plain = (output: unknown) =>
          JSON.stringify(output, (key, value) => (key === 'parsed' ? undefined : value))
        expect(plain(found.output)).to.equal(plain(response.output))
        expect(found).to.include({ id: response.id, status: 'completed', model })
        const items = await client().responses.inputItems.list(response.id)
        expect(items.data).to.have.length(1)
        expect(items.data[0]).to.include({ role: 'user', content: request.input })
      }
    })

    it(`is gone on with by its id, and what was said before is billed, at ${model}`, async () => {
      const first = await ask(prompted('[answer one]'), { model, instructions: 'Of the first turn alone.' })
      const prompt = prompted('[answer two]')
      const second = await ask(prompt, { model, previous_response_id: first.id })
      expect(second.previous_response_id).to.equal(first.id)
      const sent = JSON.stringify(gateway.sandbox.journal(prompt).at(-1)!.body)
      expect(sent).to.contain('[answer one]').and.to.contain('"one"')
      expect(sent).to.not.contain('previous_response_id').and.to.not.contain('Of the first turn')
      expect(second.usage!.input_tokens).to.be.above(first.usage!.input_tokens)
      const third = await ask(prompted('[answer three]'), { model, previous_response_id: second.id })
      expect((await client().responses.inputItems.list(third.id, { order: 'asc' })).data).to.have.length(5)
    })
  }

  it('gives its items where a later input refers to them', async () => {
    const first = await ask(prompted('[answer one]'))
    const prompt = prompted('[answer two]')
    const second = await ask([
      { type: 'item_reference', id: first.output[0]!.id! },
      { role: 'user', content: prompt },
    ])
    expect(second.output_text).to.equal('two')
    expect(JSON.stringify(gateway.sandbox.journal(prompt).at(-1)!.body)).to.contain('"text":"one"')
  })

  it('is unknown to other accounts, without store, after it was deleted, and where nothing has its id', async () => {
    const mine = await ask(prompted('[answer mine]'))
    const unstored = await ask(prompted('[answer unstored]'), { store: false })
    const deleted = await ask(prompted('[answer deleted]'))
    expect(await client().responses.retrieve(unstored.id)).to.include({ id: unstored.id })
    await client().responses.delete(deleted.id)
    const other = await gateway.account(100_000)
    const balances = await Promise.all([account.id, other.id].map((id) => balanceOf(gateway.db, id)))
    for (const [key, id] of [
      [other.key, mine.id],
      [account.key, unstored.id],
      [account.key, deleted.id],
      [account.key, 'resp_nothing'],
    ] as const) {
      const request = { model: 'native', input: 'hello', previous_response_id: id }
      const refused = await refusal(client(key).responses.create(request))
      expect([refused.status, refused.code]).to.deep.equal([400, 'previous_response_not_found'])
      expect(refused.message).to.match(/store: false/)
      const item = { type: 'item_reference' as const, id: id.replace('resp_', 'msg_') + '0000' }
      const unknown = await refusal(client(key).responses.create({ model: 'native', input: [item] }))
      expect([unknown.status, unknown.code]).to.deep.equal([400, 'previous_response_not_found'])
      expect((await refusal(client(key).responses.inputItems.list(id))).status).to.equal(404)
    }
    expect((await refusal(client(other.key).responses.retrieve(mine.id))).status).to.equal(404)
    expect((await refusal(client(other.key).responses.delete(mine.id))).status).to.equal(404)
    expect((await refusal(client().responses.retrieve(deleted.id))).status).to.equal(404)
    expect(await Promise.all([account.id, other.id].map((id) => balanceOf(gateway.db, id)))).to.deep.equal(balances)
  })

  it('says why it failed, and where it stands until it has ended', async () => {
    const failing = client().responses.create({ model: 'native', input: prompted('[status 500]') })
    const { headers } = await refusal(failing)
    const id = headers!.get('x-call-id')!.replace('call_', 'resp_')
    const failed = await client().responses.retrieve(id)
    expect(failed).to.include({ status: 'failed', model: 'native' })
    expect(failed.error).to.include({ code: 'upstream_failed' })
  })

  it('in the background is polled, and costs what it made where it is cancelled', async () => {
    for (const model of ['native', 'gpt']) {
      const begun = await ask(prompted('[answer done]'), { model, background: true })
      expect(begun).to.include({ background: true, model })
      expect(begun.status).to.be.oneOf(['queued', 'in_progress'])
      const poll = () => client().responses.retrieve(begun.id)
      const stored = await gateway
        .db('call_results')
        .where({ call_id: callOfResponse(begun.id)! })
        .first('input')
      expect(stored?.input, 'its input is stored before it is answered').to.be.instanceOf(Buffer)
      await until('the response to end', async () => (await poll()).status === 'completed')
      expect((await poll()).output_text).to.equal('done')
      const next = await ask(prompted('[answer next]'), { model, previous_response_id: begun.id })
      expect(next.output_text).to.equal('next')

      const before = await account.balance()
      const prompt = prompted('[tokens 20] [hang-after 5]')
      const hanging = await ask(prompt, { model, background: true })
      await until('the upstream to be asked', () => gateway.sandbox.journal(prompt).length > 0)
      expect((await refusal(client().responses.inputItems.list(hanging.id))).status).to.equal(404)
      expect((await refusal(client().responses.delete(hanging.id))).status).to.equal(404)
      const cancelled = await client().responses.cancel(hanging.id)
      expect(cancelled.status).to.equal('cancelled')
      expect(await client().responses.retrieve(hanging.id)).to.include({ status: 'cancelled' })
      expect(await account.balance()).to.be.below(before)
    }
    const streamed = client().responses.create({ model: 'native', input: 'a', background: true, stream: true })
    expect((await refusal(streamed)).status).to.equal(400)
  })

  it('is cancelled, and stays so, where it had not begun, and costs nothing', async () => {
    const before = await account.balance()
    await gateway.stopWorker()
    try {
      const queued = await ask(prompted('[answer never]'), { model: 'native', background: true })
      expect((await client().responses.cancel(queued.id)).status).to.equal('cancelled')
      const { status, error } = await client().responses.retrieve(queued.id)
      expect([status, error]).to.deep.equal(['cancelled', null])
    } finally {
      await gateway.startWorker()
    }
    expect(await account.balance()).to.equal(before)
  })

  it('is paid from its input on if an upstream was sent it, at whichever moment it is cancelled', async () => {
    const asked = Array.from({ length: 20 }, async (_one, ms) => {
      const own = await gateway.account(1_000_000)
      const prompt = prompted('[hang-after 5]')
      const input = `${prompt} ${'many words '.repeat(2000)}`
      const { id } = await client(own.key).responses.create({
        model: ms % 2 ? 'native' : 'gpt',
        background: true,
        input,
      })
      await pause(ms)
      expect((await client(own.key).responses.cancel(id)).status).to.equal('cancelled')
      const wasSent = () => gateway.sandbox.journal(prompt).length > 0
      if ((await own.balance()) === 1_000_000) {
        expect(wasSent(), `cancelled after ${ms} ms`).to.equal(false)
        return
      }
      await until('the upstream to have what was paid', wasSent)
      const { input_tokens: counted } = (await gateway.db('calls').where({ account_id: own.id }).first('input_tokens'))!
      expect(counted, 'all of its input').to.be.above(2000)
    })
    await Promise.all(asked)
  })

  it('is not gone on with where all of it is longer than a body may be', async () => {
    const long = `[answer long] ${'x'.repeat(1_200_000)}`
    const rich = await gateway.account(1_000_000_000)
    const asking = (previous: string | null) =>
      client(rich.key).responses.create({
        model: 'native',
        max_output_tokens: 100,
        input: long,
        previous_response_id: previous,
      })
    const first = await asking(null)
    const refused = await refusal(asking(first.id))
    expect(refused.status).to.equal(400)
    expect(refused.code).to.equal('context_length_exceeded')
  })

  it('gives no item twice', async () => {
    const { output } = await ask(prompted('[answer once]'))
    const reference = { type: 'item_reference' as const, id: output[0]!.id! }
    const refused = await refusal(ask([reference, reference]))
    expect(refused.status).to.equal(400)
    expect(refused.message).to.match(/Duplicate item/)
  })
})
