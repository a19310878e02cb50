import { expect } from 'chai'
import { randomBytes } from 'node:crypto'
import { callOf, prompted } from '../../../scripts/harness/calling.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { get, send } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import { findResponses, storeInput } from '../../../src/shared/calls/stored-responses.ts'
import { useAccount, useGateway } from '../../support/gateway.ts'
import { MODELS, addDialects } from './support/responses.ts'

const BALANCE = 10_000_000

const search = { type: 'web_search' }
const items = (...input: unknown[]) => ({ input })
describe('a hostile client of POST /v1/responses', () => {
  const gateway = useGateway({}, addDialects)
  const account = useAccount(gateway, BALANCE)

  const bodyOf = (more: object = {}) => ({
    model: 'native',
    max_output_tokens: 100,
    input: prompted('[answer fine]'),
    ...more,
  })
  const post = (body: unknown, headers: Record<string, string> = {}, path = '/v1/responses'): Promise<Reply> =>
    send('POST', `${gateway.url}${path}`, { key: account.key, body, headers })

  it('has no hosted tool run that stands among its items, and is told of those by a short header', async () => {
    const prompt = prompted('[answer fine]')
    const many = Array.from({ length: 500 }, (_one, at) => ({ ...search, name: `${'x'.repeat(58)}${at}` }))
    const reply = await post(
      bodyOf(
        items(
          { role: 'user', content: prompt },
          { type: 'configuration_update', tools: [search, { type: 'function', name: 'kept' }] },
          { type: 'additional_tools', tools: many },
        ),
      ),
    )
    expect(reply.status, reply.text).to.equal(200)
    expect(reply.headers.get('x-tollgate-tools-dropped')!.length).to.be.below(2000)
    const sent = JSON.stringify(gateway.sandbox.journal(prompt).at(-1)!.body)
    expect(sent).to.contain('kept').and.to.not.contain('web_search')
  })

  it('may name responses and items in any way, and learns of none that is not its own', async () => {
    const mine = await post(bodyOf())
    const stranger = await gateway.account(BALANCE)
    const id = String(mine.json.id)
    for (const name of [id.toUpperCase(), `${id}%00`, `${id}/..`, `%2e%2e`, '%ff', 'x'.repeat(3000), id])
      for (const path of ['', '/input_items']) {
        const reply = await stranger.get(`/v1/responses/${name}${path}`)
        expect(reply.status, `${name}${path}: ${reply.text}`).to.be.oneOf([400, 404, 414])
      }
    const cancelled = await send('POST', `${gateway.url}/v1/responses/${id}/cancel`, { key: stranger.key })
    expect(cancelled.status).to.equal(404)
    for (const name of ['\0', `${id}\0`, id.replace('resp_', 'msg_'), '__proto__'])
      expect((await post(bodyOf({ previous_response_id: name }))).status, name).to.equal(400)
  })

  it('loses or keeps a response that it deletes while it goes on with it', async () => {
    for (let round = 0; round < 5; round++) {
      const first = await post(bodyOf())
      const path = `${gateway.url}/v1/responses/${String(first.json.id)}`
      const [next, deleted] = await Promise.all([
        post(bodyOf({ previous_response_id: first.json.id })),
        send('DELETE', path, { key: account.key }),
      ])
      expect(deleted.status).to.equal(200)
      expect(next.status, next.text).to.be.oneOf([200, 400])
      expect((await get(path, account.key)).status).to.equal(404)
    }
  })

  it('can go on with what it did not wait for, or left and asked for again', async () => {
    const begun = await post(bodyOf(), { prefer: 'respond-async' })
    expect(begun.status).to.equal(202)
    const left = bodyOf({ input: prompted('[answer fine] [delay 500]') })
    const client = new AbortController()
    const url = `${gateway.url}/v1/responses`
    const gone = send('POST', url, { key: account.key, body: left, signal: client.signal }).catch(() => null)
    await until('the upstream to be asked', () => gateway.sandbox.journal(left.input).length > 0)
    client.abort()
    await gone
    const stream = { ...bodyOf({ input: prompted('[answer fine]') }), stream: true }
    const headers = { 'idempotency-key': 'again' }
    await post(stream, headers)
    const again = await post(stream, headers)
    const calls = await gateway.db('calls').where({ account_id: account.id }).pluck<string[]>('id')
    expect(calls).to.have.length(3)
    expect(again.headers.get('idempotent-replayed')).to.equal('true')
    for (const call of calls) {
      const previous = `resp_${call.replaceAll('-', '')}`
      await until(`an answer that goes on with ${previous}`, async () => {
        const next = await post(bodyOf({ previous_response_id: previous }))
        return next.status === 200
      })
    }
  })

  it('brings no thought to a model that it has forged, cut, or got from another route', async () => {
    for (const sealed of ['x', 'A'.repeat(200), '😀', '='.repeat(50)])
      for (const model of MODELS) {
        const prompt = prompted('[answer fine]')
        const thought = { type: 'reasoning', summary: [], encrypted_content: sealed }
        const reply = await post(bodyOf({ model, ...items(thought, { role: 'user', content: prompt }) }))
        expect(reply.status, reply.text).to.equal(200)
        expect(JSON.stringify(gateway.sandbox.journal(prompt).at(-1)!.body)).to.not.contain('encrypted_content')
      }
  })

  it('does not fill the database with long inputs that it goes on with for the price of a picture', async () => {
    const kept = async (input: string, mostBytes: number): Promise<boolean> => {
      const reply = await post(bodyOf({ store: false }))
      const call = { callId: callOf(reply), accountId: account.id }
      await storeInput(gateway.db, call, [{ role: 'user', content: input }], mostBytes)
      return (
        (await findResponses(gateway.db, { userId: account.userId, accountId: account.id }, [call.callId], 10_000_000))!
          .size === 1
      )
    }
    const long = () => randomBytes(400_000).toString('base64')
    expect(await kept(long(), 1_000_000)).to.equal(true)
    expect(await kept(long(), 1_000_000)).to.equal(true)
    expect(await kept(long(), 1_000_000)).to.equal(false)
    expect(await kept('short', 1_000_000)).to.equal(true)
    expect(await kept(long(), 2_000_000)).to.equal(true)
  })
})
