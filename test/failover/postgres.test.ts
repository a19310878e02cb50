import { spawnSync } from 'node:child_process'
import { expect } from 'chai'
import { root } from '../../scripts/folders.ts'
import { chat, prompted } from '../../scripts/harness/calling.ts'
import { migrate } from '../../scripts/harness/database.ts'
import { anAccount } from '../../scripts/harness/factories.ts'
import type { TestAccount } from '../../scripts/harness/factories.ts'
import { startGateway } from '../../scripts/harness/harness.ts'
import type { Gateway } from '../../scripts/harness/harness.ts'
import { argumentsOf } from '../../scripts/harness/installation.ts'
import { get, send } from '../../scripts/harness/http.ts'
import { until } from '../../scripts/harness/until.ts'
import { expectBooksToBalance } from '../support/books.ts'
import { PASSWORD, anEmail } from '../support/console.ts'
import { atPort, movingAddress } from '../support/moving-address.ts'
import type { MovingAddress } from '../support/moving-address.ts'
import { startPostgresPair } from '../support/standby.ts'
import type { PostgresPair } from '../support/standby.ts'

/** How long a failover may last after it is over, in ms: "within seconds", on a busy machine. */
const SOON_MS = 30_000

describe('a failover of Postgres', () => {
  let pair: PostgresPair
  let address: MovingAddress
  let gateway: Gateway
  let account: TestAccount
  before(async () => {
    pair = await startPostgresPair(migrate)
    address = await movingAddress(pair.primary.port)
    const DATABASE_URL = atPort(pair.primary.url, address.port)
    gateway = await startGateway({ DATABASE_URL, LOG_LEVEL: 'silent' })
    account = await anAccount(gateway.db, 100_000)
  })
  after(async () => {
    await gateway.stop()
    address.close()
    await pair.stop()
  })

  const readiness = async () => (await get(`${gateway.url}/readyz`)).json.down as string[]
  const call = async (): Promise<number> => (await chat(gateway, account, prompted())).status
  const register = async (): Promise<number> => {
    const body = { email: anEmail(), password: PASSWORD }
    return (await send('POST', `${gateway.url}/api/auth/register`, { body })).status
  }

  it('that leads to a standby for a while is an outage of Postgres, and over once the address is right', async () => {
    expect(await call()).to.equal(200)
    address.moveTo(pair.standby.port)
    await pair.primary.stop('fast')
    await pair.primary.start()
    await until('the outage to be seen', async () => (await call()) === 503)
    expect([await register(), await readiness()]).to.deep.equal([503, ['postgres']])
    address.moveTo(pair.primary.port)
    await until('calls to go through', async () => (await call()) === 200, SOON_MS)
    await until('the process to be ready', async () => (await readiness()).length === 0, SOON_MS)
    expect(await register()).to.equal(200)
    await until('no connection to be left to the standby', () => address.openTo(pair.standby.port) === 0, SOON_MS)
    await expectBooksToBalance(gateway.db)
  })

  it('is no matter to a command that only reads: the audit runs on a standby', async () => {
    const env = { PATH: process.env['PATH'], DATABASE_URL: pair.standby.url }
    const { status, stdout, stderr } = spawnSync(process.execPath, [...argumentsOf('admin'), 'audit'], {
      cwd: root,
      env,
      encoding: 'utf8',
    })
    expect(status, stdout + stderr).to.equal(0)
  })

  it('that cuts nobody off from the old primary, which takes no more writes, is over within seconds', async () => {
    expect(await call()).to.equal(200)
    await pair.failOver()
    await until('readiness to say so', async () => (await readiness()).join() === 'postgres', SOON_MS)
    address.moveTo(pair.standby.port)
    await until('calls to go through', async () => (await call()) === 200, SOON_MS)
    await until('the process to be ready', async () => (await readiness()).length === 0, SOON_MS)
    await expectBooksToBalance(gateway.db)
  })
})
