import { expect } from 'chai'
import { startWeb } from '../../../src/api/web.ts'
import { PASSWORD, anEmail, consoleConfig } from '../../support/console.ts'
import { get, send } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import { readableLog } from '../../support/log-lines.ts'

describe('the log of the console', () => {
  const { log, lines } = readableLog()
  let web: Awaited<ReturnType<typeof startWeb>>
  let url: string
  before(async () => {
    web = await startWeb(await consoleConfig({ LOGIN_RATE_LIMIT: '4' }), log, 500)
    url = `http://127.0.0.1:${web.port}`
    await until('the web process is ready', async () => (await get(`${url}/readyz`)).status === 200)
  })
  after(() => web.stop())

  const post = (path: string, body: unknown, key?: string) =>
    send('POST', `${url}${path}`, { key, body, headers: { 'user-agent': 'canary-agent' } })
  const events = () => lines.filter(({ msg }) => msg === 'security')

  it('identifies an account by its id, and never has a password, a token or an address', async () => {
    const email = anEmail()
    const {
      json: { token, user },
    } = await post('/api/auth/register', { email, password: PASSWORD, displayName: 'canary-name' })
    const {
      json: { token: second },
    } = await post('/api/auth/login', { email, password: PASSWORD })
    await post('/api/auth/login', { email, password: 'canary-wrong-1' })
    await post('/api/auth/login', { email: 'canary@example.com', password: 'canary-wrong-2' })
    await post('/api/auth/register', { email, password: PASSWORD })
    await post('/api/auth/logout', {}, second)
    await post('/api/auth/password', { currentPassword: PASSWORD, password: 'canary-new-3' }, token)
    await post('/api/email/verify', { token: 'canary-token'.padEnd(43, 'x') })
    await post('/api/email/reset', { token: 'canary-token'.padEnd(43, 'x'), password: 'canary-new-4' })
    await post('/api/email/forgot', { email })
    await get(`${url}/api/email/verify?token=canary-query`, 'canary-bearer'.padEnd(43, 'x'))
    await until('the last request is logged', () => JSON.stringify(lines).includes('/api/email/forgot'))

    expect(events().map(({ event, account, refusal }) => [event, account, refusal])).to.deep.equal([
      ['registered', user.id, undefined],
      ['logged_in', user.id, undefined],
      ['login_refused', user.id, 'invalid_credentials'],
      ['login_refused', undefined, 'invalid_credentials'],
      ['logged_out', user.id, undefined],
      ['password_changed', user.id, undefined],
    ])
    const all = JSON.stringify(lines)
    for (const secret of [PASSWORD, token as string, second as string, email, 'canary'])
      expect(all, secret).not.to.contain(secret)
  })

  it('has no defect when only a client is wrong', () => {
    expect(lines.filter(({ msg }) => msg === 'defect')).to.deep.equal([])
  })
})
