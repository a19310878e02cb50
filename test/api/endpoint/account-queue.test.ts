import { expect } from 'chai'
import { get } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import type { DescribedWeb } from '../console/support/records.ts'
import { startDescribed } from '../console/support/records.ts'

/** Requests at once: those that are worked on (a quarter of the pool of ten), those that wait, and more. */
const [WORKED_ON, WAITING, MORE] = [3, 500, 7]

describe('many requests of one account at once', () => {
  let web: DescribedWeb
  before(async () => {
    web = await startDescribed()
  })
  after(() => web.stop())

  it('wait for their turns, are refused where too many wait, and leave Postgres to the others', async () => {
    const [{ api }, other] = [await web.signedIn(), await web.signedIn()]
    const holder = await web.db.transaction()
    await holder.raw('LOCK TABLE calls IN ACCESS EXCLUSIVE MODE')
    const statuses: number[] = []
    const asked = Array.from({ length: WORKED_ON + WAITING + MORE }, async () => {
      const { status, headers } = await api('GET', '/api/calls')
      if (status === 429) expect(Number(headers.get('retry-after'))).to.be.above(0)
      statuses.push(status)
    })
    try {
      await until('the refusals', () => statuses.length === MORE)
      expect(new Set(statuses)).to.deep.equal(new Set([429]))
      expect((await other.api('GET', '/api/keys')).status).to.equal(200)
      expect((await get(`${web.url}/readyz`)).status).to.equal(200)
    } finally {
      await holder.rollback()
    }
    await Promise.all(asked)
    expect(statuses.filter((status) => status === 200)).to.have.lengthOf(WORKED_ON + WAITING)
    expect((await api('GET', '/api/calls')).status, 'afterwards').to.equal(200)
  })

  it('are two downloads of a kind, and the next one when they are over', async () => {
    const { api } = await web.signedIn()
    const holder = await web.db.transaction()
    await holder.raw('LOCK TABLE calls IN ACCESS EXCLUSIVE MODE')
    const statuses: number[] = []
    const downloads = [1, 2, 3].map(async () => statuses.push((await api('GET', '/api/exports/calls')).status))
    try {
      await until('a refusal', () => statuses.length === 1)
    } finally {
      await holder.rollback()
    }
    await Promise.all(downloads)
    expect(statuses).to.deep.equal([429, 200, 200])
    expect((await api('GET', '/api/exports/calls')).status).to.equal(200)
  })
})
