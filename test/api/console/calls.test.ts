import { expect } from 'chai'
import { DIALECTS } from '../../../src/shared/chat/dialect.ts'
import { newId, publicId } from '../../../src/shared/platform/ids.ts'
import { post } from '../../../scripts/harness/http.ts'
import { createKey } from '../../../src/shared/identity/api-keys.ts'
import type { Client } from '../support/described.ts'
import type { SignedIn } from './support/records.ts'
import { aCall, useDescribed } from './support/records.ts'

type Call = { id: string; createdAt: string; [field: string]: unknown }

const ids = (calls: Call[]): string[] => calls.map((call) => call.id)

async function allPages(api: Client, query = '', limit = 2): Promise<Call[][]> {
  const pages: Call[][] = []
  for (let cursor = ''; ;) {
    const { json } = await api('GET', `/api/calls?limit=${limit}${query}${cursor && `&cursor=${cursor}`}`)
    pages.push(json.data)
    if (json.nextCursor === null) return pages
    cursor = json.nextCursor
  }
}

describe('GET /api/calls', () => {
  const web = useDescribed()

  it('shows what a call was, what it cost and its ledger entries', async () => {
    const { account, api } = await web.signedIn(1000)
    const id = publicId(
      'call',
      await aCall(web.db, account, {
        modality: 'chat',
        model: 'sandbox-chat',
        amount: 50,
        cost: 20,
        tokens: { input: 7, output: 9 },
      }),
    )
    const { call, ledger, receipt } = (await api('GET', `/api/calls/${id}`)).json
    expect(receipt).to.deep.equal([{ what: 'call', quantity: '1', unit: 'call', credits: '20' }])
    expect(call).to.include({ id, status: 'succeeded', keyId: publicId('key', account.keyId), upstream: 'sandbox' })
    expect(call).to.include({ credits: 20, creditsPrecharged: 50, inputTokens: 7, outputTokens: 9, attempts: 1 })
    expect(
      ledger.map((entry: Record<string, unknown>) => [entry.kind, entry.amount, entry.balanceAfter, entry.callId]),
    ).to.deep.equal([
      ['charge', -50, 950, id],
      ['settlement', 30, 980, id],
    ])
    expect((await api('GET', '/api/calls')).json.data).to.deep.equal([call])
  })

  it('shows calls that have not ended, failed ones, and refusals', async () => {
    const { account, api } = await web.signedIn(100)
    await aCall(web.db, account, { end: null })
    await aCall(web.db, account, { end: 'failed' })
    const refused = await post(`${web.url}/v1/images/generations`, account.key, { model: 'sandbox-image', prompt: '' })
    expect(refused.status).to.equal(400)
    const { data } = (await api('GET', '/api/calls')).json
    expect(data.map((call: Call) => [call.status, call.httpStatus, call.errorType, call.credits])).to.deep.equal([
      ['rejected', 400, 'invalid_prompt', 0],
      ['failed', 502, 'upstream_failed', 0],
      ['queued', null, null, 40],
    ])
    expect(data[0].id).to.equal(refused.headers.get('x-call-id'))
  })

  it('names the dialect of a chat, also of a refused one, and lists those of one dialect', async () => {
    const { account, api } = await web.signedIn(1000)
    const chat = { model: 'sandbox-chat', modality: 'chat' } as const
    await aCall(web.db, account)
    for (const dialect of [undefined, ...DIALECTS.filter((one) => one !== 'chat')])
      await aCall(web.db, account, { ...chat, dialect })
    for (const path of ['/v1/messages', '/v1/chat/completions', '/v1/videos/generations'])
      expect((await post(`${web.url}${path}`, account.key, { model: 'none' })).status).to.be.oneOf([400, 404])
    const named = async (query = '') =>
      (await api('GET', `/api/calls${query}`)).json.data.map(({ status, dialect }: Call) => [status, dialect])
    const made = DIALECTS.toReversed().map((dialect) => ['succeeded', dialect])
    expect(await named()).to.deep.equal([
      ['rejected', null],
      ['rejected', 'chat'],
      ['rejected', 'messages'],
      ...made,
      ['succeeded', null],
    ])
    for (const dialect of DIALECTS)
      expect(await named(`?status=succeeded&dialect=${dialect}`)).to.deep.equal([['succeeded', dialect]])
    expect(await named('?dialect=chat&modality=image')).to.deep.equal([])
    const lines = (await api('GET', '/api/exports/calls?dialect=messages')).text.trimEnd().split('\r\n')
    const column = lines[0]!.split(',').indexOf('dialect')
    expect(lines.slice(1).map((line) => line.split(',')[column])).to.deep.equal(['messages', 'messages'])
  })

  it('answers 404 for a call of another account, an unknown one, and what is not an id', async () => {
    const [mine, theirs] = [await web.signedIn(), await web.signedIn(100)]
    const foreign = await aCall(web.db, theirs.account)
    for (const id of [publicId('call', foreign), publicId('call', newId('call')), 'x', foreign, '%00']) {
      const refused = await mine.api('GET', `/api/calls/${encodeURIComponent(id)}`)
      expect([refused.status, refused.json.error], id).to.deep.equal([404, 'not_found'])
    }
  })

  describe('pages', () => {
    it('can be in the order of time from the oldest on, and in no other order', async () => {
      const { account, api } = await web.signedIn(1000)
      for (let nth = 0; nth < 5; nth++) await aCall(web.db, account)
      const newest = ids((await api('GET', '/api/calls')).json.data)
      const oldest = await allPages(api, '&sort=oldest')
      expect(oldest.map((page) => page.length)).to.deep.equal([2, 2, 1])
      expect(ids(oldest.flat())).to.deep.equal(newest.toReversed())
      expect((await api('GET', '/api/calls?sort=cost')).json.error).to.equal('invalid_request')
    })

    it('neither lose nor repeat calls of the same microsecond, nor of the same millisecond', async () => {
      const { account, api } = await web.signedIn(1000)
      for (const micros of ['000001', '000001', '000001', '000002', '000999'])
        await aCall(web.db, account, { at: `2026-01-01T00:00:00.${micros}Z` })
      for (const limit of [1, 2]) expect(new Set(ids((await allPages(api, '', limit)).flat())).size).to.equal(5)
    })

    it('have 50 calls by default', async () => {
      const { account, api } = await web.signedIn(10_000)
      await Promise.all(Array.from({ length: 51 }, () => aCall(web.db, account, { end: null })))
      expect((await api('GET', '/api/calls')).json.data).to.have.length(50)
    })
  })

  describe('filters', () => {
    let mine: SignedIn
    before(async () => {
      mine = await web.signedIn(10_000)
      const { id: keyId } = await createKey(web.db, mine.account.id, 'other')
      await aCall(web.db, mine.account, { model: 'a', modality: 'chat', at: '2026-01-01T23:59:59.999999Z' })
      await aCall(web.db, mine.account, { model: 'b', modality: 'image', end: 'failed', at: '2026-01-02T00:00:00Z' })
      await aCall(web.db, mine.account, { model: 'b', modality: 'video', keyId, at: '2026-01-02T12:00:00.123456Z' })
      await aCall(web.db, mine.account, { model: 'a', modality: 'chat', end: null, at: '2026-01-03T00:00:00Z' })
    })

    const days = async (query: string): Promise<string[]> =>
      (await mine.api('GET', `/api/calls?${query}`)).json.data
        .map((call: Call) => call.createdAt.slice(8, 13))
        .toReversed()

    it('keep the calls that match', async () => {
      expect(await days('model=b')).to.deep.equal(['02T00', '02T12'])
      expect(await days('modality=chat')).to.deep.equal(['01T23', '03T00'])
      expect(await days('status=failed')).to.deep.equal(['02T00'])
      expect(await days('status=queued&model=a')).to.deep.equal(['03T00'])
      expect(await days('status=queued&model=b')).to.deep.equal([])
      expect(await days(`keyId=${publicId('key', mine.account.keyId)}`)).to.deep.equal(['01T23', '02T00', '03T00'])
    })

    it('include the whole last day in UTC, and the whole last millisecond of a moment', async () => {
      expect(await days('from=2026-01-02&to=2026-01-02')).to.deep.equal(['02T00', '02T12'])
      expect(await days('to=2026-01-01')).to.deep.equal(['01T23'])
      expect(await days('from=2026-01-02T12:00:00.123Z')).to.deep.equal(['02T12', '03T00'])
      expect(await days('to=2026-01-02T12:00:00.123Z')).to.deep.equal(['01T23', '02T00', '02T12'])
      expect(await days(`from=${encodeURIComponent('2026-01-02T14:00:00+02:00')}`)).to.deep.equal(['02T12', '03T00'])
    })

    it('find nothing by the key of another account', async () => {
      const theirs = await web.signedIn(100)
      await aCall(web.db, theirs.account)
      expect(await days(`keyId=${publicId('key', theirs.account.keyId)}`)).to.deep.equal([])
    })

    it('are refused by name when they are invalid', async () => {
      const wrong = [
        ...'limit=0 limit=101 limit=1e1 limit=5&limit=6 modality=audio dialect=latin status=done'.split(' '),
        `keyId=${mine.account.keyId}`,
        'model=%00',
        ...'from=2026-02-30 from=2026-01-01T00:00:00 to=9999-12-31 from=2026-01-03&to=2026-01-02 cursor=x'.split(' '),
      ]
      for (const query of wrong) {
        const refused = await mine.api('GET', `/api/calls?${query}`)
        expect([refused.status, refused.json.error], query).to.deep.equal([400, 'invalid_request'])
        expect(refused.json.message, query).to.match(
          new RegExp(`^${query.includes('&to=') ? 'to' : query.split('=')[0]} `),
        )
      }
    })
  })

  describe('cursors', () => {
    let mine: SignedIn
    let cursor: string
    before(async () => {
      mine = await web.signedIn(1000)
      for (let nth = 0; nth < 3; nth++) await aCall(web.db, mine.account)
      cursor = (await mine.api('GET', '/api/calls?limit=1')).json.nextCursor
    })

    it('are refused if any of their characters was changed', async () => {
      const bytes = Buffer.from(cursor, 'base64url')
      const forged = Array.from(bytes, (byte, at) =>
        Buffer.from(bytes)
          .fill(byte ^ 1, at, at + 1)
          .toString('base64url'),
      )
      for (const text of [...forged, cursor.slice(0, -4), `${cursor}AAAA`, 'A'.repeat(5000)]) {
        const refused = await mine.api('GET', `/api/calls?cursor=${encodeURIComponent(text)}`)
        expect([refused.status, refused.json.error], text).to.deep.equal([400, 'invalid_request'])
      }
    })

    it('are valid only for their own list and account', async () => {
      const theirs = await web.signedIn()
      expect((await theirs.api('GET', `/api/calls?cursor=${cursor}`)).status).to.equal(400)
      expect((await mine.api('GET', `/api/ledger?cursor=${cursor}`)).status).to.equal(400)
      expect((await mine.api('GET', `/api/calls?cursor=${cursor}`)).status).to.equal(200)
    })
  })
})
