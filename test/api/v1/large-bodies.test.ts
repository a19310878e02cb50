import { expect } from 'chai'
import type { Reply } from '../../../scripts/harness/http.ts'
import { useGateway } from '../../support/gateway.ts'
import type { Caller } from '../../support/caller.ts'

const KILOBYTE = 1024
const MEGABYTE = 1024 * KILOBYTE

describe('a call with a large body', () => {
  const gateway = useGateway({ GATEWAY_RATE_LIMIT: '1000' }, ({ models }) => {
    const [route] = (models.find(({ id }) => id === 'sandbox-chat') as { upstreams: object[] }).upstreams
    const pricing = { input: 0, output: 0, perTokens: 1000, minimum: 0 }
    models.push({ id: 'gratis', modality: 'chat', free: true, pricing, upstreams: [route!] })
  })

  const ask = (account: Caller, bytes: number, more: object = {}, path = '/v1/messages'): Promise<Reply> => {
    const messages = [{ role: 'user', content: 'a'.repeat(bytes) }]
    return account.post(path, { model: 'sandbox-chat', max_tokens: 9, messages, ...more })
  }
  const faultOf = ({ status, json }: Reply) => [status, json.error.type as string]

  it('is refused by its model before its fields, whatever its length', async () => {
    const account = await gateway.account(10)
    for (const bytes of [10, 100 * KILOBYTE])
      expect(faultOf(await ask(account, bytes, { model: 'none', max_tokens: 0 }))).to.deep.equal([
        404,
        'not_found_error',
      ])
  })

  it('is refused unread in the form of its dialect, and recorded, where its account has no credits', async () => {
    const account = await gateway.account()
    // Images have no model that costs nothing.
    const reply = await account.post('/v1/images/generations', { prompt: 'a'.repeat(MEGABYTE / 2) })
    expect(faultOf(reply)).to.deep.equal([402, 'insufficient_credits'])
    expect(reply.json.error.message).to.match(/before it was read/)
    expect(reply.headers.get('x-call-id')).to.match(/^call_/)
    const small = await account.post('/v1/images/generations', { prompt: 'a' })
    expect(small.json.error.type).to.equal('unsupported_model')
  })

  it('is served without credits by a model that costs nothing', async () => {
    const account = await gateway.account()
    const reply = await ask(account, 100 * KILOBYTE, { model: 'gratis' })
    expect(reply.status, reply.text.slice(0, 300)).to.equal(200)
  })

  it('counts by its bytes where it is refused, and small ones are not refused for it', async () => {
    const account = await gateway.account(1000)
    const statuses: number[] = []
    while (statuses.at(-1) !== 429 && statuses.length < 10)
      statuses.push((await ask(account, 7 * MEGABYTE, { model: 'none' })).status)
    expect(statuses).to.deep.equal([404, 404, 404, 404, 404, 404, 429])
    expect((await ask(account, 10)).status).to.equal(200)
  })

  it('counts as a read for each 64 kB of it that it begins, where its tokens are counted', async () => {
    const account = await gateway.account()
    const left = async (bytes: number): Promise<number> => {
      const messages = [{ role: 'user', content: 'a'.repeat(bytes) }]
      const body = { model: 'sandbox-chat', messages }
      const reply = await account.post('/v1/messages/count_tokens', body)
      expect(reply.status, reply.text.slice(0, 300)).to.equal(200)
      return Number(reply.headers.get('x-ratelimit-remaining-requests'))
    }
    expect(await left(10)).to.equal(599)
    expect(await left(MEGABYTE)).to.equal(599 - 17)
  })
})
