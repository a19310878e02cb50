import { expect } from 'chai'
import { PASSWORD, aPerson, aUser, anEmail, consoleConfig, startConsole, useConsole } from '../../support/console.ts'
import type { TestConsole } from '../../support/console.ts'
import { startPrivateRedis } from '../../../scripts/harness/services.ts'

const from = (address: string) => ({ 'x-forwarded-for': address })

describe('limits of the console', () => {
  describe('per client address', () => {
    const web = useConsole({ LOGIN_RATE_LIMIT: '2', REGISTER_RATE_LIMIT: '3', TRUST_PROXY: '1' })

    // Another address each time: guesses at one are counted from all networks together.
    const login = (address: string, email = anEmail(), password = 'x') =>
      web.post('/api/auth/login', { email, password }, undefined, from(address))

    it('lets as many of simultaneous logins in 10 minutes through, and tells the rest how long to wait', async () => {
      const begun = performance.now()
      const replies = await Promise.all(Array.from({ length: 20 }, () => login('7.0.1.1')))
      const refused = replies.filter(({ status }) => status === 429)
      expect(refused).to.have.length(18)
      expect(refused[0]!.json.error).to.equal('rate_limited')
      const wait = Number(refused[0]!.headers.get('retry-after'))
      expect(wait).to.be.within(600 - (performance.now() - begun) / 1000, 600)
      expect((await login('7.0.1.2')).status).to.equal(401)
    })

    it('counts successful logins too', async () => {
      const { email } = await aUser(web)
      const attempt = async () => (await login('7.0.2.1', email, PASSWORD)).status
      expect([await attempt(), await attempt(), await attempt()]).to.deep.equal([200, 200, 429])
    })

    it('limits registrations', async () => {
      const register = () =>
        web.post('/api/auth/register', { email: anEmail(), password: PASSWORD }, undefined, from('7.0.5.1'))
      for (let count = 1; count <= 3; count += 1) expect((await register()).status).to.equal(200)
      const { status, json, headers } = await register()
      expect([status, json.error]).to.deep.equal([429, 'rate_limited'])
      expect(Number(headers.get('retry-after'))).to.be.within(3590, 3600)
    })

    it('allows 60 forgotten passwords an hour, whatever the addresses', async () => {
      const forgot = () => web.post('/api/email/forgot', { email: anEmail() }, undefined, from('7.0.6.1'))
      const statuses = await Promise.all(Array.from({ length: 60 }, async () => (await forgot()).status))
      expect(new Set(statuses)).to.deep.equal(new Set([200]))
      expect((await forgot()).status).to.equal(429)
    })

    it('limits guesses of the current password for an account', async () => {
      const { token } = await aUser(web)
      const guess = async () =>
        (await web.post('/api/auth/password', { currentPassword: 'wrong horse 1', password: 'short' }, token)).status
      expect([await guess(), await guess(), await guess()]).to.deep.equal([400, 400, 429])
    })
  })

  describe('while Redis is away', () => {
    let web: TestConsole
    before(async () => {
      const redis = await startPrivateRedis()
      web = await startConsole(await consoleConfig({ REDIS_URL: redis.url, LOGIN_RATE_LIMIT: '2' }))
      await redis.stop()
    })
    after(() => web.stop())

    it('keep counting, and accounts keep working', async () => {
      const { email, token } = await aPerson(web)
      expect(token).to.match(/^[\w-]{43}$/)
      expect((await web.get('/api/auth/me', token)).status).to.equal(200)
      const login = async () => (await web.post('/api/auth/login', { email, password: PASSWORD })).status
      expect([await login(), await login(), await login()]).to.deep.equal([200, 200, 429])
      expect((await web.post('/api/email/forgot', { email })).status).to.equal(200)
      expect((await web.post('/api/email/resend', {}, token)).status).to.equal(200)
    })
  })
})
