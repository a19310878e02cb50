import { expect } from 'chai'
import { aGrant, anAccount } from '../../../scripts/harness/factories.ts'
import { aCall, useDescribed } from './support/records.ts'
import { publicId, newId } from '../../../src/shared/platform/ids.ts'
import { grantCredits } from '../../../src/shared/operators/changes.ts'
import { openSession } from '../../../src/shared/identity/sessions.ts'

describe('an account at the console', () => {
  const web = useDescribed()

  describe('GET /api/account', () => {
    it('shows the balance, what running calls hold of it, and how many are running', async () => {
      const { account, api } = await web.signedIn(100)
      await aCall(web.db, account, { amount: 30, end: null })
      await aCall(web.db, account, { amount: 20 })
      expect((await api('GET', '/api/account')).json).to.include({ credits: 50, held: 30, running: 1, debt: 0 })
    })

    it('shows what past calls left uncollected as debt, until later credits have repaid it', async () => {
      const { account, api } = await web.signedIn(100)
      await aCall(web.db, account, { amount: 100, cost: 250 })
      expect((await api('GET', '/api/account')).json).to.include({ credits: 0, debt: 100 })
      await aGrant(web.db, account.id, { amount: 70 })
      expect((await api('GET', '/api/account')).json).to.include({ credits: 0, debt: 30 })
      const {
        data: [newest],
      } = (await api('GET', '/api/ledger')).json
      expect(newest).to.include({ kind: 'collection', amount: -70, balanceAfter: 0, callId: null })
      await aGrant(web.db, account.id, { amount: 50 })
      expect((await api('GET', '/api/account')).json).to.include({ credits: 20, debt: 0 })
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

    it('shows nothing of another account', async () => {
      const [mine] = [await web.signedIn(), await web.signedIn(100)]
      expect((await mine.api('GET', '/api/grants')).json).to.deep.equal({ ok: true, data: [] })
    })
  })

  type Entry = {
    id: string
    kind: string
    amount: number
    balanceAfter: number
    origin: string
    callId: string | null
    grantId: string
  }

  describe('GET /api/ledger', () => {
    it('shows every movement, newest first, each with the balance after it', async () => {
      const { account, api } = await web.signedIn([{ amount: 30, days: 5, origin: 'bonus' }, { amount: 100 }])
      const call = publicId('call', await aCall(web.db, account, { amount: 40, end: 'failed' }))
      const { data, nextCursor } = (await api('GET', '/api/ledger')).json
      expect(
        data.map(({ kind, amount, balanceAfter, origin, callId }: Entry) => [
          kind,
          amount,
          balanceAfter,
          origin,
          callId,
        ]),
      ).to.deep.equal([
        ['refund', 30, 130, 'bonus', call],
        ['refund', 10, 100, 'purchase', call],
        ['charge', -10, 90, 'purchase', call],
        ['charge', -30, 100, 'bonus', call],
        ['grant', 100, 130, 'purchase', null],
        ['grant', 30, 30, 'bonus', null],
      ])
      expect(nextCursor).to.equal(null)
    })

    it('has pages with each entry once, which do not change while credits move', async () => {
      const { account, api } = await web.signedIn(1000)
      for (let nth = 0; nth < 4; nth++) await aCall(web.db, account)
      const whole = (await api('GET', '/api/ledger')).json.data as Entry[]
      const first = (await api('GET', '/api/ledger?limit=3')).json
      await aCall(web.db, account)
      const second = (await api('GET', `/api/ledger?limit=3&cursor=${first.nextCursor}`)).json
      expect([...first.data, ...second.data]).to.deep.equal(whole)
      expect(second.nextCursor).to.equal(null)
    })

    it('shows nothing of another account', async () => {
      const [mine, theirs] = [await web.signedIn(), await web.signedIn(100)]
      await aCall(web.db, theirs.account)
      expect((await mine.api('GET', '/api/ledger')).json).to.deep.equal({ ok: true, data: [], nextCursor: null })
    })
  })

  describe('/api/exports', () => {
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
