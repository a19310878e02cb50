import { expect } from 'chai'
import { useGateway } from '../support/gateway.ts'
import { anAccount } from '../../scripts/harness/factories.ts'
import { post } from '../../scripts/harness/http.ts'
import { until } from '../../scripts/harness/until.ts'

describe('a worker', () => {
  const gateway = useGateway({ CHAT_CONCURRENCY: '6', ACCOUNT_SHARE: '1' })

  it('runs at most CHAT_CONCURRENCY chats at a time, whatever the number of its queue workers', async () => {
    const account = await anAccount(gateway.db, 100_000)
    const asked = Array.from({ length: 30 }, (_one, nth) =>
      post(`${gateway.url}/v1/chat/completions`, account.key, {
        model: 'sandbox-chat',
        messages: [{ role: 'user', content: `one of many ${nth} [hold]` }],
      }),
    )
    let most = 0
    await until('the end of every call', async () => {
      const rows = await gateway.db('calls').where({ account_id: account.id }).select<{ status: string }[]>('status')
      const running = rows.filter(({ status }) => status === 'running').length
      most = Math.max(most, running)
      const left = asked.length - rows.filter(({ status }) => status === 'succeeded').length
      if (running === Math.min(6, left)) gateway.sandbox.release('one of many')
      return rows.length === asked.length && rows.every(({ status }) => status === 'succeeded')
    })
    expect((await Promise.all(asked)).map(({ status }) => status)).to.deep.equal(asked.map(() => 200))
    expect(most).to.equal(6)
  })
})
