import { expect } from 'chai'
import { Redis } from 'ioredis'
import { chat, image, prompted } from '../../scripts/harness/calling.ts'
import { anAccount } from '../../scripts/harness/factories.ts'
import type { TestAccount } from '../../scripts/harness/factories.ts'
import { startGateway } from '../../scripts/harness/harness.ts'
import type { Gateway } from '../../scripts/harness/harness.ts'
import { get } from '../../scripts/harness/http.ts'
import { privateFolder, startPrivateRedis } from '../../scripts/harness/services.ts'
import type { PrivateRedis } from '../../scripts/services/redis.ts'
import { writePrivately } from '../../scripts/services/secrets.ts'
import { until } from '../../scripts/harness/until.ts'
import { expectBooksToBalance } from '../support/books.ts'
import { atPort, movingAddress } from '../support/moving-address.ts'
import type { MovingAddress } from '../support/moving-address.ts'

/** How long a failover may last after it is over, in ms: "within seconds", on a busy machine. */
const SOON_MS = 30_000

describe('a failover of Redis', () => {
  let servers: PrivateRedis[]
  let operators: Redis[]
  let address: MovingAddress
  let gateway: Gateway
  let account: TestAccount
  before(async () => {
    // Both have one password.
    const folders = [privateFolder(), privateFolder()]
    for (const folder of folders) writePrivately(`${folder}/redis-password`, 'one-password')
    servers = await Promise.all(folders.map((folder) => startPrivateRedis({ folder })))
    operators = servers.map(({ port }) => new Redis({ port, password: 'one-password' }))
    address = await movingAddress(servers[0]!.port)
    const REDIS_URL = atPort(servers[0]!.url, address.port)
    gateway = await startGateway({ REDIS_URL, LOG_LEVEL: 'silent' })
    account = await anAccount(gateway.db, 100_000)
  })
  afterEach(() => expectBooksToBalance(gateway.db))
  after(async () => {
    await gateway.stop()
    address.close()
    for (const operator of operators) operator.disconnect()
    await Promise.all(servers.map((server) => server.stop()))
  })

  const readiness = async () => (await get(`${gateway.url}/readyz`)).json.down as string[]
  const call = async (): Promise<number> => (await image(gateway, account, prompted())).status
  const demote = async (nth: 0 | 1) => {
    const other = servers[1 - nth]!
    await operators[nth]!.config('SET', 'masterauth', 'one-password')
    await operators[1 - nth]!.replicaof('NO', 'ONE')
    await operators[nth]!.replicaof('127.0.0.1', other.port)
  }
  const serving = async (nth: 0 | 1) => {
    await until('calls to go through', async () => (await call()) === 200, SOON_MS)
    await until('the process to be ready', async () => (await readiness()).length === 0, SOON_MS)
    await until('all connections to have moved', () => address.openTo(servers[1 - nth]!.port) === 0, SOON_MS)
    // What only listens has moved, too: the end of a stream that was left comes by a notice.
    expect((await chat(gateway, account, prompted())).status).to.equal(200)
  }

  it('that cuts nobody off from the old primary is over within seconds of the new address', async () => {
    expect(await call()).to.equal(200)
    await demote(0)
    await until('readiness to say so', async () => (await readiness()).join() === 'redis', SOON_MS)
    expect(await call()).to.equal(503)
    address.moveTo(servers[1]!.port)
    await serving(1)
  })

  it('is found without a call, by all connections', async () => {
    await demote(1)
    address.moveTo(servers[0]!.port)
    await until('all connections to have moved', () => address.openTo(servers[1]!.port) === 0, SOON_MS)
    await serving(0)
  })
})
