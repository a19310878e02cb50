import { expect } from 'chai'
import { appendFileSync } from 'node:fs'
import { request } from 'undici'
import { startTestWeb, testConfig } from '../../../scripts/harness/harness.ts'
import type { TestWeb } from '../../../scripts/harness/harness.ts'

/** Where no upstream is. */
const NOWHERE = 'http://127.0.0.1:9'

const LOCAL = { BASE_URL: 'http://localhost:3000' }

describe('the mails of a local installation', () => {
  const webs: TestWeb[] = []
  after(() => Promise.all(webs.map((web) => web.stop())))

  const statusesOf = async (settings: Record<string, string>, host?: string): Promise<number[]> => {
    const web = await startTestWeb(await testConfig(NOWHERE, settings))
    webs.push(web)
    const statuses: number[] = []
    for (const path of ['/dev/mail', '/api/dev/mails']) {
      const answer = await request(`${web.url}${path}`, host === undefined ? {} : { headers: { host } })
      await answer.body.dump()
      statuses.push(answer.statusCode)
    }
    return statuses
  }

  it('are shown to a client of this machine that asks by a local name, and to nobody else', async () => {
    const [page, list] = await statusesOf(LOCAL)
    // Without a build there is no page.
    expect([page, list]).to.be.deep.oneOf([
      [200, 200],
      [404, 200],
    ])
    for (const host of ['gateway.example.com', 'localhost.example.com', '10.0.0.1:3000'])
      expect(await statusesOf(LOCAL, host), host).to.deep.equal([404, 404])
    expect(await statusesOf({ BASE_URL: 'https://gateway.example.com' })).to.deep.equal([404, 404])
    expect(await statusesOf({ ...LOCAL, SMTP_URL: 'smtp://127.0.0.1:1' })).to.deep.equal([404, 404])
  })

  it('are the newest first, without a line that is still being written', async () => {
    const web = await startTestWeb(await testConfig(NOWHERE, LOCAL))
    webs.push(web)
    const mail = (subject: string) => JSON.stringify({ date: '2026-01-01T00:00:00Z', to: 'a@b.c', subject, text: 'x' })
    appendFileSync(web.config.MAIL_FILE, `${mail('first')}\n${mail('second')}\n{"date": "2026`)
    const { body } = await request(`${web.url}/api/dev/mails`)
    const { data } = (await body.json()) as { data: { subject: string }[] }
    expect(data.map(({ subject }) => subject)).to.deep.equal(['second', 'first'])
  })
})
