import { expect } from 'chai'
import { chat, image, movementsOf, prompted } from '../../scripts/harness/calling.ts'
import { connectTestDb, newDatabaseUrl } from '../../scripts/harness/database.ts'
import { anAccount } from '../../scripts/harness/factories.ts'
import { startGateway } from '../../scripts/harness/harness.ts'
import { get } from '../../scripts/harness/http.ts'
import { testRedis } from '../../scripts/harness/redis.ts'
import { until } from '../../scripts/harness/until.ts'
import { atOnce } from '../support/at-once.ts'
import { expectBooksToBalance } from '../support/books.ts'
import { atPort, movingAddress } from '../support/moving-address.ts'

/** How many calls come at once: more than a pool has connections. */
const AT_ONCE = 12

/** How long `/readyz` takes to say what is away, in ms: its patience is 2 s; the rest is for a busy machine. */
const SAID_MS = 10_000

/** How long it takes until all silent connections are left and calls go through, in ms; the rest as above. */
const SOON_MS = 45_000

/** How long a call may wait, in ms: for an answer, then for a connection; the rest as above. */
const CALL_MS = { postgres: 40_000, redis: 15_000 }

type Name = keyof typeof CALL_MS

/** A gateway that reaches one of its servers at another port, and a pool that does not go through that address. */
async function startBehind(name: Name) {
  const [databaseUrl, redis] = await Promise.all([newDatabaseUrl(), testRedis()])
  const server = name === 'postgres' ? databaseUrl : redis.url
  const serverPort = Number(new URL(server).port)
  const address = await movingAddress(serverPort)
  const gateway = await startGateway({
    DATABASE_URL: databaseUrl,
    [name === 'postgres' ? 'DATABASE_URL' : 'REDIS_URL']: atPort(server, address.port),
    LOG_LEVEL: 'silent',
  })
  const direct = connectTestDb({ DATABASE_URL: databaseUrl, DATABASE_SSL: 'off', DATABASE_POOL: 2 })
  const account = await anAccount(direct, 1_000_000)
  const readiness = async () => (await get(`${gateway.url}/readyz`)).json.down as string[]
  const call = async (): Promise<number> => (await chat(gateway, account, prompted())).status
  const calls = () => Promise.all(Array.from({ length: AT_ONCE }, call))
  return {
    name,
    serverPort,
    address,
    gateway,
    direct,
    account,
    readiness,
    calls,
    expectAllToBeBack: async (): Promise<void> => {
      await until('calls to go through', async () => (await call()) === 200, SOON_MS)
      await until('the process to be ready', async () => (await readiness()).length === 0, SOON_MS)
      await until('all silent connections to be left', () => address.openToNowhere() === 0, SOON_MS)
      expect(await calls()).to.deep.equal(all(200))
      await until('no call to be open', async () => (await direct('calls').whereNull('finished_at')).length === 0)
      await expectBooksToBalance(direct)
    },
    stop: async (): Promise<void> => {
      await gateway.stop()
      address.close()
      await direct.destroy()
    },
  }
}
type Behind = Awaited<ReturnType<typeof startBehind>>

const all = (status: number) => Array.from({ length: AT_ONCE }, () => status)

const TESTS: Record<string, (behind: Behind) => Promise<void>> = {
  'is named by /readyz within seconds, and holds no call for long': async (behind) => {
    const { name, address, calls, readiness, serverPort, expectAllToBeBack } = behind
    expect(await calls()).to.deep.equal(all(200))
    address.fallSilent()
    const startedAt = performance.now()
    const answers = calls()
    await until('readiness to say so', async () => (await readiness()).join() === name, SAID_MS)
    expect(await answers).to.deep.equal(all(503))
    expect(performance.now() - startedAt).to.be.below(CALL_MS[name])
    // By now new connections are tried, and are as silent.
    expect(await calls()).to.deep.equal(all(503))
    expect(performance.now() - startedAt).to.be.below(2 * CALL_MS[name])
    expect(await readiness()).to.deep.equal([name])
    address.moveTo(serverPort)
    await expectAllToBeBack()
  },

  'costs no call that a worker holds, where new connections go through': async (behind) => {
    const { address, gateway, account, direct, serverPort, expectAllToBeBack } = behind
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
  },
}

describe('a server that vanishes without a word', function () {
  // Two calls, one after the other, may take so long.
  this.timeout(3 * CALL_MS.postgres + 60_000)
  const names = Object.keys(CALL_MS) as Name[]
  const titles = Object.keys(TESTS)
  atOnce(
    Object.fromEntries(
      names.flatMap((name) =>
        titles.map((title) => [
          `${name}: ${title}`,
          async () => {
            const behind = await startBehind(name)
            try {
              await TESTS[title]!(behind)
            } finally {
              await behind.stop()
            }
          },
        ]),
      ),
    ),
  )
})
