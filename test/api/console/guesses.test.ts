import { expect } from 'chai'
import { createGuesses } from '../../../src/api/endpoint/password-guesses.ts'
import { ApiError } from '../../../src/shared/platform/errors.ts'
import { connectPersistent, connectProducer } from '../../../src/shared/platform/redis/redis.ts'
import { withHashing } from '../../../src/shared/identity/hashing-gate.ts'
import { deleteOldNetworks, networkHash, rememberNetwork } from '../../../src/shared/identity/login.ts'
import { findUserByEmail } from '../../../src/shared/identity/users.ts'
import { until } from '../../../scripts/harness/until.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { PASSWORD, aPerson, anEmail, consoleConfig, useConsole } from '../../support/console.ts'

/** Failures that are looked at before the first pause, and the one that brings it. */
const LOOKED_AT = 11

const from = (address: string) => ({ 'x-forwarded-for': address })
const statusesOf = (replies: Reply[]) => replies.map(({ status }) => status)

describe('guesses at a password', () => {
  const web = useConsole({ TRUST_PROXY: '1' })

  let networks = 0
  /** An address in a network that nobody has come from yet. */
  const fresh = () => `10.${(++networks >> 16) & 255}.${(networks >> 8) & 255}.${networks & 255}`
  const login = (email: string, password: string, address = fresh()) =>
    web.post('/api/auth/login', { email, password }, undefined, from(address))
  const register = async (address: string) => {
    const email = anEmail()
    await web.post('/api/auth/register', { email, password: PASSWORD }, undefined, from(address))
    return email
  }
  /** Makes all pauses end in an hour, so that no slow machine outlasts one. */
  const lengthenPauses = async () => {
    const redis = connectPersistent(web.config)
    for (const key of await redis.keys(`${web.config.REDIS_PREFIX}:guesses:*`))
      if (Number(await redis.hget(key, 'failures')) >= LOOKED_AT) await redis.hset(key, 'until', Date.now() + 3_600_000)
    redis.disconnect()
  }
  const guess = (email: string, times: number) =>
    Promise.all(Array.from({ length: times }, () => login(email, 'wrong horse 1')))
  /** Counts failures as logins from so many networks do, without their hashes. */
  const fail = async (email: string, times: number) => {
    const redis = connectPersistent(web.config)
    const { count } = createGuesses(redis, web.config)
    for (let nth = 0; nth < times; nth++) await count(email, fresh())
    redis.disconnect()
  }

  it('are looked at a few times, then paused, however many come at once, for any address', async () => {
    const email = await register('10.200.0.2')
    const [known, unknown] = [await guess(email, 15), await guess(anEmail(), 15)]
    for (const replies of [known, unknown])
      expect(replies.filter(({ status }) => status === 401)).to.have.length(LOOKED_AT)
    const paused = (replies: Reply[]) => replies.find(({ status }) => status === 429)!
    expect(paused(known).json.error).to.equal('rate_limited')
    expect(Number(paused(known).headers.get('retry-after'))).to.be.within(1, 10)
    expect(paused(unknown).text).to.equal(paused(known).text)
    expect([...paused(unknown).headers.keys()]).to.deep.equal([...paused(known).headers.keys()])
    expect(statusesOf([await login('no address', 'x')])).to.deep.equal([401])
  })

  it('keep nobody out of a network that they have logged in from, and their own slips do not either', async () => {
    const email = await register('10.200.0.4')
    await login(email, PASSWORD, '2001:db8:4:4::1')
    await fail(email, LOOKED_AT)
    await lengthenPauses()
    expect((await login(email, PASSWORD)).status).to.equal(429)
    for (let slip = 0; slip <= LOOKED_AT; slip++)
      expect((await login(email, 'wrong horse 1', '10.200.0.4')).status).to.equal(401)
    expect((await login(email, PASSWORD, '10.200.0.4')).status).to.equal(200)
    expect((await login(email, PASSWORD, '2001:db8:4:4::2')).status).to.equal(200)
    expect((await login(email, PASSWORD, '2001:db8:4:5::2')).status).to.equal(429)
  })

  it('are forgotten once the password was right, and never pause a single network', async () => {
    const email = await register('10.200.0.5')
    for (let nth = 0; nth < 12; nth++) expect((await login(email, 'wrong horse 1', '10.5.0.1')).status).to.equal(401)
    await fail(email, 5)
    expect((await login(email, PASSWORD)).status).to.equal(200)
    await fail(email, LOOKED_AT)
    await lengthenPauses()
    expect((await login(email, PASSWORD)).status).to.equal(429)
  })

  it('pause for longer each time, and for 15 minutes at most', async () => {
    const config = await consoleConfig()
    const redis = connectProducer(config)
    await until('Redis is there', () => redis.status === 'ready')
    const guesses = createGuesses(redis, config)
    const email = anEmail()
    const pauses: number[] = []
    for (let nth = 1; nth <= 20; nth++) {
      await guesses.count(email, fresh())
      const refused = await guesses.refusePaused(email).catch((error: unknown) => error)
      if (!(refused instanceof ApiError)) continue
      pauses.push(refused.retryAfterSeconds!)
      // As if it were over.
      const [key] = await redis.keys(`${config.REDIS_PREFIX}:guesses:*`)
      await redis.hset(key!, 'until', 0)
    }
    redis.disconnect()
    expect(pauses).to.deep.equal([10, 20, 40, 80, 160, 320, 640, 900, 900, 900])
  })

  it('are counted while Redis is away', async () => {
    const redis = connectProducer({ REDIS_URL: 'redis://127.0.0.1:9', REDIS_TLS_VERIFY: 'on' })
    const guesses = createGuesses(redis, await consoleConfig())
    const email = anEmail()
    for (let nth = 0; nth < 10; nth++) await guesses.count(email, fresh())
    const refused = await guesses.count(email, fresh()).catch((error: unknown) => error)
    redis.disconnect()
    expect(refused).to.include({ code: 'rate_limited', retryAfterSeconds: 900 })
  })

  it('forget networks beyond the latest 50, and those of half a year ago', async () => {
    const { email } = await aPerson(web)
    const { id } = (await findUserByEmail(web.db, email))!
    for (let nth = 0; nth < 60; nth++) await rememberNetwork(web.db, id, networkHash('secret', `10.6.0.${nth}`))
    const kept = () => web.db('login_networks').where({ user_id: id }).orderBy('last_login_at').pluck('network_hash')
    expect(await kept()).to.deep.equal(
      Array.from({ length: 50 }, (_, index) => networkHash('secret', `10.6.0.${index + 10}`)),
    )
    await web
      .db('login_networks')
      .where({ user_id: id })
      .update({ last_login_at: web.db.raw(`now() - interval '181 days'`) })
    expect(await deleteOldNetworks(web.db)).to.be.at.least(50)
    expect(await kept()).to.deep.equal([])
  })

  it('in a flood of ten addresses are refused: logins and registrations from elsewhere are answered', async () => {
    const { email } = await aPerson(web)
    let end = (): void => {}
    const ended = new Promise<void>((resolve) => (end = resolve))
    let refused = 0
    // The web process is this one: hashes that cost nothing fill its gate.
    const flood = Array.from({ length: 202 }, (_, index) =>
      withHashing({ address: `10.0.0.${index % 10}`, known: false }, () => ended).catch(() => (refused += 1)),
    )
    expect((await login(anEmail(), 'x', '10.0.0.1')).status).to.equal(503)
    const others = [
      login(email, PASSWORD, '10.1.0.1'),
      login(email, 'wrong', '10.1.0.2'),
      login(anEmail(), 'x', '10.1.0.3'),
      login(email, PASSWORD, '2001:db8:1::1'),
      web.post('/api/auth/register', { email: anEmail(), password: PASSWORD }, undefined, from('2001:db8:2::1')),
    ]
    await until('each has taken a place of the flood', () => refused === others.length)
    end()
    expect(statusesOf(await Promise.all(others))).to.deep.equal([200, 401, 401, 200, 200])
    await Promise.all(flood)
  })
})
