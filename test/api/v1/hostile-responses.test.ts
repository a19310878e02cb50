import { expect } from 'chai'
import { randomBytes } from 'node:crypto'
import { callOf, prompted } from '../../../scripts/harness/calling.ts'
import { until } from '../../../scripts/harness/until.ts'
import { findResponses, storeInput } from '../../../src/shared/calls/stored-responses.ts'
import { useAccount, useGateway } from '../../support/gateway.ts'
import { MODELS, addDialects } from './support/responses.ts'

const BALANCE = 10_000_000
const RESPONSES = '/v1/responses'

const search = { type: 'web_search' }

describe('a hostile client of POST /v1/responses', () => {
  const gateway = useGateway({}, addDialects)
  const account = useAccount(gateway, BALANCE)

  const bodyOf = (more: object = {}) => ({
    model: 'native',
    max_output_tokens: 100,
    input: prompted('[answer fine]'),
    ...more,
  })
  const ask = (more: object = {}, headers: Record<string, string> = {}) =>
    account.post(RESPONSES, bodyOf(more), headers)
  const sentFor = (prompt: string): string => JSON.stringify(gateway.sandbox.journal(prompt).at(-1)!.body)

  it('has no hosted tool run that stands among its items, and is told of those by a short header', async () => {
    const prompt = prompted('[answer fine]')
    const tools = Array.from({ length: 500 }, (_one, at) => ({ ...search, name: `${'x'.repeat(58)}${at}` }))
    const reply = await ask({
      input: [
        { role: 'user', content: prompt },
        { type: 'configuration_update', tools: [search, { type: 'function', name: 'kept' }] },
        { type: 'additional_tools', tools },
      ],
    })
    expect(reply.status, reply.text).to.equal(200)
    expect(reply.headers.get('x-tollgate-tools-dropped')!.length).to.be.below(2000)
    expect(sentFor(prompt)).to.contain('kept').and.to.not.contain('web_search')
  })

  it('may name responses and items in any way, and learns of none that is not its own', async () => {
    const id = String((await ask()).json.id)
    const stranger = await gateway.account(BALANCE)
    for (const name of [id.toUpperCase(), `${id}%00`, `${id}/..`, `%2e%2e`, '%ff', 'x'.repeat(3000), id])
      for (const path of ['', '/input_items']) {
        const reply = await stranger.get(`${RESPONSES}/${name}${path}`)
        expect(reply.status, `${name}${path}: ${reply.text}`).to.be.oneOf([400, 404, 414])
      }
    expect((await stranger.send('POST', `${RESPONSES}/${id}/cancel`)).status).to.equal(404)
    for (const name of ['\0', `${id}\0`, id.replace('resp_', 'msg_'), '__proto__'])
      expect((await ask({ previous_response_id: name })).status, name).to.equal(400)
  })

  it('loses or keeps a response that it deletes while it goes on with it', async () => {
    for (let round = 0; round < 5; round++) {
      const { id } = (await ask()).json
      const path = `${RESPONSES}/${id}`
      const [next, deleted] = await Promise.all([ask({ previous_response_id: id }), account.send('DELETE', path)])
      expect(deleted.status).to.equal(200)
      expect(next.status, next.text).to.be.oneOf([200, 400])
      expect((await account.get(path)).status).to.equal(404)
    }
  })

  it('can go on with what it did not wait for, or left and asked for again', async () => {
    expect((await ask({}, { prefer: 'respond-async' })).status).to.equal(202)
    const body = bodyOf({ input: prompted('[answer fine] [delay 500]') })
    const client = new AbortController()
    const gone = account.send('POST', RESPONSES, { body, signal: client.signal }).catch(() => null)
    await until('the upstream to be asked', () => gateway.sandbox.journal(body.input).length > 0)
    client.abort()
    await gone
    const stream = { input: prompted('[answer fine]'), stream: true }
    await ask(stream, { 'idempotency-key': 'again' })
    const again = await ask(stream, { 'idempotency-key': 'again' })
    expect(again.headers.get('idempotent-replayed')).to.equal('true')
    const calls = await gateway.db('calls').where({ account_id: account.id }).pluck<string[]>('id')
    expect(calls).to.have.length(3)
    for (const call of calls) {
      const previous_response_id = `resp_${call.replaceAll('-', '')}`
      const next = async () => (await ask({ previous_response_id })).status === 200
      await until(`an answer that goes on with ${previous_response_id}`, next)
    }
  })

  it('brings no thought to a model that it has forged, cut, or got from another route', async () => {
    for (const encrypted_content of ['x', 'A'.repeat(200), '😀', '='.repeat(50)])
      for (const model of MODELS) {
        const prompt = prompted('[answer fine]')
        const thought = { type: 'reasoning', summary: [], encrypted_content }
        const reply = await ask({ model, input: [thought, { role: 'user', content: prompt }] })
        expect(reply.status, reply.text).to.equal(200)
        expect(sentFor(prompt)).to.not.contain('encrypted_content')
      }
  })

  it('does not fill the database with long inputs that it goes on with for the price of a picture', async () => {
    const isKept = async (content: string, mostBytes: number): Promise<boolean> => {
      const callId = callOf(await ask({ store: false }))
      await storeInput(gateway.db, { callId, accountId: account.id }, [{ role: 'user', content }], mostBytes)
      const holder = { userId: account.userId, accountId: account.id }
      return (await findResponses(gateway.db, holder, [callId], 10_000_000))!.size === 1
    }
    const long = () => randomBytes(400_000).toString('base64')
    for (const [content, mostBytes, expected] of [
      [long(), 1_000_000, true],
      [long(), 1_000_000, true],
      [long(), 1_000_000, false],
      ['short', 1_000_000, true],
      [long(), 2_000_000, true],
    ] as const)
      expect(await isKept(content, mostBytes)).to.equal(expected)
  })
})
