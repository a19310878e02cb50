import { expect } from 'chai'
import { openingsOfDay } from '../../src/shared/operators/upstreams.ts'
import { image, prompted } from '../../scripts/harness/calling.ts'
import { anAccount } from '../../scripts/harness/factories.ts'
import { startGateway } from '../../scripts/harness/harness.ts'
import type { Gateway } from '../../scripts/harness/harness.ts'
import { until } from '../../scripts/harness/until.ts'

describe('a circuit that opens in a worker', () => {
  let gateway: Gateway
  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())

  const noted = async (): Promise<number> =>
    (await openingsOfDay(gateway.db))
      .filter(({ upstream }) => upstream === 'sandbox')
      .reduce((sum, { openings }) => sum + openings, 0)

  it('is noted for operators', async () => {
    const account = await anAccount(gateway.db, 10_000)
    const before = await noted()
    for (let times = 0; times < 5; times++)
      expect((await image(gateway, account, prompted('[status 500]'))).status).to.equal(502)
    await until('the opening is noted', async () => (await noted()) > before)
  })
})
