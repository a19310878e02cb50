import { expect } from 'chai'
import { newId, publicId } from '../../../src/shared/platform/ids.ts'
import { grantCredits } from '../../../src/shared/operators/changes.ts'
import { openSession } from '../../../src/shared/identity/sessions.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import type { DescribedWeb } from './support/records.ts'
import { aCall, startDescribed } from './support/records.ts'

describe('/api/exports', () => {
  let web: DescribedWeb
  before(async () => {
    web = await startDescribed()
  })
  after(() => web.stop())
  afterEach(() => expectBooksToBalance(web.db))

  const linesOf = (text: string): string[] => text.trimEnd().split('\r\n')

  it('begins with a byte order mark where one is asked for, and only there', async () => {
    const account = await anAccount(web.db, [{ amount: 1 }])
    const { token } = (await openSession(web.db, {
      userId: account.userId,
      accountId: account.id,
      passwordHash: 'none',
      userAgent: 'test',
      ip: '127.0.0.1',
    }))!
    const bytes = async (path: string) => {
      const response = await fetch(`${web.url}${path}`, { headers: { authorization: `Bearer ${token}` } })
      return Buffer.from(await response.arrayBuffer())
    }
    for (const path of ['/api/exports/calls', '/api/exports/ledger']) {
      const [plain, marked] = [await bytes(path), await bytes(`${path}?bom`)]
      expect(marked.equals(Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), plain])), path).to.equal(true)
    }
  })

  it('has all calls and all entries, newest first, beyond any page', async () => {
    const { account, api } = await web.signedIn(Array.from({ length: 520 }, () => ({ amount: 1 })))
    await web.db.raw(
      `
      INSERT INTO calls (id, account_id, key_id, user_id, modality, model, status, http_status, error_type,
        finished_at, created_at)
      SELECT gen_random_uuid(), ?, ?, ?, 'image', 'm', 'rejected', 402, 'insufficient_credits', now(),
        now() - (n / 3) * interval '1 second'
      FROM generate_series(1, 1201) n`,
      [account.id, account.keyId, account.userId],
    )
    const calls = await api('GET', '/api/exports/calls')
    expect(calls.headers.get('content-type')).to.match(/^text\/csv/)
    expect(calls.headers.get('content-disposition')).to.contain('tollgate-calls.csv')
    const ids = linesOf(calls.text)
      .slice(1)
      .map((line) => line.split(',')[0])
    expect([ids.length, new Set(ids).size]).to.deep.equal([1201, 1201])
    expect(ids[0]).to.equal((await api('GET', '/api/calls?limit=1')).json.data[0].id)
    const entries = linesOf((await api('GET', '/api/exports/ledger')).text)
    expect([entries.length, entries[1]!.endsWith('entry_520')]).to.deep.equal([521, true])
  })

  it('narrows calls as their list does, and refuses what it refuses', async () => {
    const { account, api } = await web.signedIn(1000)
    await aCall(web.db, account, { model: '=SUM(A1)' })
    await aCall(web.db, account, { end: 'failed' })
    const rows = async (query: string) => linesOf((await api('GET', `/api/exports/calls${query}`)).text).length - 1
    expect([await rows(''), await rows('?status=failed')]).to.deep.equal([2, 1])
    expect(await rows(`?keyId=${publicId('key', account.keyId)}&modality=image`)).to.equal(2)
    expect(await rows('?modality=video')).to.equal(0)
    for (const query of ['?keyId=x', '?status=x', '?from=2030-01-02&to=2030-01-01'])
      expect((await api('GET', `/api/exports/calls${query}`)).status, query).to.equal(400)
    expect((await api('GET', '/api/exports/calls')).text).to.contain(`,'=SUM(A1),`)
  })

  it('quotes what would break a line, runs no formula, and has numbers as numbers', async () => {
    const { account, api } = await web.signedIn(100)
    await aCall(web.db, account)
    const formulas = ['=HYPERLINK("http://evil.example")', '+1+1', '-2+3', '@SUM(A1)', '＝1+1', '=1+1, "really"']
    for (const note of formulas)
      await grantCredits(web.db, null, { id: newId('grant'), accountId: account.id, origin: 'bonus', amount: 5, note })
    const { text } = await api('GET', '/api/exports/ledger')
    for (const note of formulas) {
      const cell = `'${note.replaceAll('"', '""')}`
      expect(text).to.contain(/[",]/.test(note) ? `,"${cell}",` : `,${cell},`)
    }
    expect(text).to.match(/,charge,-\d+,\d+,/)
  })
})
