import { expect } from 'chai'
import { aVisitor } from '../../support/console.ts'
import { aCall, useDescribed } from './support/records.ts'
import { publicId, newId } from '../../../src/shared/platform/ids.ts'
import { grantCredits } from '../../../src/shared/operators/changes.ts'

describe('an account at the console', () => {
  const web = useDescribed()

  describe('GET /api/account', () => {
    it('shows the balance, what running calls hold of it, and how many are running', async () => {
      const { account, api } = await web.signedIn(100)
      await aCall(web.db, account, { amount: 30, end: null })
      await aCall(web.db, account, { amount: 20 })
      expect((await api('GET', '/api/account')).json).to.include({ credits: 50, held: 30, running: 1, debt: 0 })
    })
  })

  describe('GET /api/grants', () => {
    it('shows every grant with what is left of it, newest first', async () => {
      const { account, api } = await web.signedIn([{ amount: 30, days: 5, origin: 'bonus' }, { amount: 100 }])
      await aCall(web.db, account, { amount: 40 })
      const { data } = (await api('GET', '/api/grants')).json
      expect(
        data.map((grant: Record<string, unknown>) => [grant.id, grant.origin, grant.amount, grant.remaining]),
      ).to.deep.equal([
        [publicId('grant', account.grants[1]!), 'purchase', 100, 90],
        [publicId('grant', account.grants[0]!), 'bonus', 30, 0],
      ])
      expect(data[0].expiresAt).to.equal(null)
      expect(Math.round((Date.parse(data[1].expiresAt) - Date.parse(data[1].createdAt)) / 86_400_000)).to.equal(5)
    })

    it('shows nothing of another account, nor does the ledger', async () => {
      const [mine, theirs] = [await web.signedIn(), await web.signedIn(100)]
      await aCall(web.db, theirs.account)
      for (const path of ['/api/grants', '/api/ledger'])
        expect((await mine.api('GET', path)).json.data, path).to.deep.equal([])
    })
  })

  describe('/api/exports', () => {
    const linesOf = (text: string): string[] => text.trimEnd().split('\r\n')

    it('begins with a byte order mark where one is asked for, and only there', async () => {
      const { token } = await aVisitor(web)
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
      SELECT overlay(first_id(moment)::text placing lpad(n::text, 12, '0') from 25)::uuid, ?, ?, ?, 'image', 'm',
        'rejected', 402, 'insufficient_credits', now(), moment
      FROM generate_series(1, 1201) n, LATERAL (SELECT now() - (n / 3) * interval '1 second' AS moment) s`,
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

    it('quotes what would break a line, runs no formula, and has numbers as numbers', async () => {
      const { account, api } = await web.signedIn(100)
      await aCall(web.db, account)
      const formulas = ['=HYPERLINK("http://evil.example")', '+1+1', '-2+3', '@SUM(A1)', '＝1+1', '=1+1, "really"']
      for (const note of formulas)
        await grantCredits(web.db, null, {
          id: newId('grant'),
          accountId: account.id,
          origin: 'bonus',
          amount: 5,
          note,
        })
      const { text } = await api('GET', '/api/exports/ledger')
      for (const note of formulas) {
        const cell = `'${note.replaceAll('"', '""')}`
        expect(text).to.contain(/[",]/.test(note) ? `,"${cell}",` : `,${cell},`)
      }
      expect(text).to.match(/,charge,-\d+,\d+,/)
    })
  })
})
