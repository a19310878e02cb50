import { expect } from 'chai'
import { chat, image, movementsOf, prompted } from '../../scripts/harness/calling.ts'
import { connectTestDb, newDatabaseUrl } from '../../scripts/harness/database.ts'
import { anAccount } from '../../scripts/harness/factories.ts'
import type { TestAccount } from '../../scripts/harness/factories.ts'
import { startGateway } from '../../scripts/harness/harness.ts'
import type { Gateway } from '../../scripts/harness/harness.ts'
import { get } from '../../scripts/harness/http.ts'
import { testRedis } from '../../scripts/harness/redis.ts'
import { until } from '../../scripts/harness/until.ts'
import type { Db } from '../../src/shared/platform/postgres/db.ts'
import { expectBooksToBalance } from '../support/books.ts'
import { atPort, movingAddress } from '../support/moving-address.ts'
import type { MovingAddress } from '../support/moving-address.ts'

/** How many calls come at once: more than a pool has connections. */
const AT_ONCE = 12

/** How long `/readyz` takes to say what is away, in ms: its patience is 2 s; the rest is for a busy machine. */
const SAID_MS = 10_000

/** How long it takes until all silent connections are left and calls go through, in ms; the rest as above. */
const SOON_MS = 45_000

type Subject = {
  name: string
  /** The settings of a gateway that reaches the server at another port, and that port's own server. */
  settings: () => Promise<{ databaseUrl: string; at: (port: number) => Record<string, string>; port: number }>
  /** How long a call may wait, in ms: for an answer, then for a connection; the rest as above. */
  callMs: number
}

const SUBJECTS: Subject[] = [
  {
    name: 'postgres',
    settings: async () => {
      const databaseUrl = await newDatabaseUrl()
      const at = (port: number) => ({ DATABASE_URL: atPort(databaseUrl, port) })
      return { databaseUrl, at, port: Number(new URL(databaseUrl).port) }
    },
    callMs: 40_000,
  },
  {
    name: 'redis',
    settings: async () => {
      const [databaseUrl, { url }] = await Promise.all([newDatabaseUrl(), testRedis()])
      return { databaseUrl, at: (port) => ({ REDIS_URL: atPort(url, port) }), port: Number(new URL(url).port) }
    },
    callMs: 15_000,
  },
]

for (const { name, settings, callMs } of SUBJECTS) {
  describe(`a ${name} that vanishes without a word`, function () {
    // Two calls, one after the other, may take `callMs`.
    this.timeout(3 * callMs + 60_000)
    let serverPort: number
    let address: MovingAddress
    let gateway: Gateway
    let account: TestAccount
    /** A pool that does not go through the address. */
    let direct: Db
    before(async () => {
      const { databaseUrl, at, port } = await settings()
      serverPort = port
      address = await movingAddress(port)
      gateway = await startGateway({ DATABASE_URL: databaseUrl, ...at(address.port), LOG_LEVEL: 'silent' })
      direct = connectTestDb({ DATABASE_URL: databaseUrl, DATABASE_SSL: 'off', DATABASE_POOL: 2 })
      account = await anAccount(direct, 1_000_000)
    })
    after(async () => {
      await gateway.stop()
      address.close()
      await direct.destroy()
    })

    const readiness = async () => (await get(`${gateway.url}/readyz`)).json.down as string[]
    const call = async (): Promise<number> => (await chat(gateway, account, prompted())).status
    const calls = () => Promise.all(Array.from({ length: AT_ONCE }, call))
    const all = (status: number) => Array.from({ length: AT_ONCE }, () => status)

    async function expectAllToBeBack(): Promise<void> {
      await until('calls to go through', async () => (await call()) === 200, SOON_MS)
      await until('the process to be ready', async () => (await readiness()).length === 0, SOON_MS)
      await until('all silent connections to be left', () => address.openToNowhere() === 0, SOON_MS)
      expect(await calls()).to.deep.equal(all(200))
      await until('no call to be open', async () => (await direct('calls').whereNull('finished_at')).length === 0)
      await expectBooksToBalance(direct)
    }

    it('is named by /readyz within seconds, and holds no call for long', async () => {
      expect(await calls()).to.deep.equal(all(200))
      address.fallSilent()
      const startedAt = performance.now()
      const answers = calls()
      await until('readiness to say so', async () => (await readiness()).join() === name, SAID_MS)
      expect(await answers).to.deep.equal(all(503))
      expect(performance.now() - startedAt).to.be.below(callMs)
      // By now new connections are tried, and are as silent.
      expect(await calls()).to.deep.equal(all(503))
      expect(performance.now() - startedAt).to.be.below(2 * callMs)
      expect(await readiness()).to.deep.equal([name])
      address.moveTo(serverPort)
      await expectAllToBeBack()
    })

    it('costs no call that a worker holds, where new connections go through', async () => {
      const prompt = prompted('[hold]')
      const answer = image(gateway, account, prompt)
      await until('the upstream to be asked', () => gateway.sandbox.open(prompt).open)
      address.fallSilent()
      address.moveTo(serverPort)
      gateway.sandbox.release(prompt)
      const reply = await answer
      expect(reply.status, reply.text).to.equal(200)
      expect(await movementsOf(direct, reply)).to.deep.equal(['charge -40'])
      expect(gateway.sandbox.journal(prompt)).to.have.length(1)
      await expectAllToBeBack()
    })
  })
}
