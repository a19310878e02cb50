import { expect } from 'chai'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import type { Person } from '../../support/console.ts'
import { aVisitor, useConsole } from '../../support/console.ts'
import type { MadeCall } from './support/records.ts'
import { aCall } from './support/records.ts'

describe('GET /api/models/latency', () => {
  // A database of its own: its figures are of everybody.
  const web = useConsole({}, { hasOwnDatabase: true })
  let person: Person
  before(async () => {
    person = await aVisitor(web)
  })

  async function took(account: TestAccount, latencyMs: number, made: MadeCall = {}): Promise<string> {
    const id = await aCall(web.db, account, made)
    await web.db('calls').where({ id }).update({ latency_ms: latencyMs })
    return id
  }

  it('shows the median and the 95th percentile of a day, of all accounts, of offered models', async () => {
    const [one, two] = [await anAccount(web.db, 5000), await anAccount(web.db, 5000)]
    for (let at = 1; at <= 20; at++) await took(at % 2 ? one : two, at * 100)
    await took(one, 90_000, { end: 'failed' })
    await took(one, 50, { model: 'no-longer-offered' })
    const { status, json } = await web.get('/api/models/latency', person.token)
    expect(status).to.equal(200)
    expect(json.data).to.deep.equal([{ model: 'sandbox-image', calls: 20, p50Ms: 1000, p95Ms: 1900 }])
  })
})
