import { expect } from 'chai'
import { newId, parseId, publicId } from '../../../src/shared/platform/ids.ts'
import { requestMail } from '../../../src/shared/mail/mails.ts'
import { setBanner } from '../../../src/shared/operators/banners.ts'
import { setAccountStatus } from '../../../src/shared/operators/changes.ts'
import { get, send } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import type { Person } from '../../support/console.ts'
import { aVisitor, useConsole, useOperator } from '../../support/console.ts'
import { listAnyCalls } from '../../../src/shared/reports/all-calls.ts'
import { gatewayError } from '../../../src/shared/platform/errors.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import { aResult, opened, verbs } from '../../shared/calls/opening.ts'
import { OPERATOR_TYPES } from '../../../src/shared/webhooks/types.ts'

describe('what operators see of everybody', () => {
  // A database of its own: files that one mocha runs share one.
  const web = useConsole({}, { hasOwnDatabase: true })
  const operator = useOperator(web)

  describe("the operators' log, dead letters and banner", () => {
    const ask = (method: string, path: string, body?: object) =>
      send(method, `${web.url}/api/operator/${path}`, { key: operator.token, ...(body && { body }) })

    it('narrows the log by account, operator, action and time, in pages, and exports it', async () => {
      const person = await aVisitor(web)
      const id = parseId('account', person.id)!
      await ask('POST', `accounts/${person.id}/grants`, { amount: 5, origin: 'bonus', note: '=1+1, "so"' })
      await setAccountStatus(web.db, null, id, 'suspended')
      await setAccountStatus(web.db, null, id, 'active')
      const kinds = async (query: string): Promise<string[]> => {
        const seen: string[] = []
        for (let cursor = ''; ;) {
          const { json } = await ask('GET', `actions?limit=1&${query}${cursor}`)
          seen.push(...json.data.map(({ action }: { action: string }) => action))
          if (json.nextCursor === null) return seen
          cursor = `&cursor=${json.nextCursor}`
        }
      }
      const all = ['account_activated', 'account_suspended', 'credits_granted']
      expect(await kinds(`account=${person.id}`)).to.deep.equal(all)
      expect(await kinds(`account=${person.id}&sort=oldest`)).to.deep.equal(all.toReversed())
      expect(await kinds(`account=${person.email}&operator=command%20line`)).to.deep.equal(all.slice(0, 2))
      expect(await kinds(`operator=${operator.email}`)).to.deep.equal(['credits_granted'])
      expect(await kinds(`account=${person.id}&action=account_suspended&from=2020-01-01`)).to.deep.equal([all[1]])
      expect(await kinds(`account=${person.id}&to=2020-01-01`)).to.deep.equal([])
      expect(await kinds('account=nobody@example.com')).to.deep.equal([])
      expect((await ask('GET', 'actions?action=theft')).status).to.equal(400)
      const { headers, text } = await ask('GET', `exports/actions?account=${person.id}`)
      expect(headers.get('content-type')).to.contain('text/csv')
      const [heading, , ...lines] = text.trim().split('\r\n')
      expect(heading).to.equal('createdAt,operator,action,accountId,account,details,id')
      expect(lines).to.have.lengthOf(3)
      expect(lines[2]).to.contain(`,${operator.email},credits_granted,${person.id},${person.email},"{""note"":""=1+1,`)
      expect((await kinds(`account=${person.id}`))[0], 'an export is an action').to.equal('actions_exported')
    })

    it('lists dead letters in pages, and discards them for good', async () => {
      const ids = [newId('mail'), newId('mail'), newId('mail')].toSorted()
      for (const id of ids)
        await requestMail(web.db, { id, kind: 'reset', recipient: 'lost@example.com', userId: null })
      await web.db('mails').whereIn('id', ids).update({ status: 'dead', finished_at: web.db.fn.now() })
      const first = (await ask('GET', 'mails?limit=2')).json
      const second = (await ask('GET', `mails?limit=2&cursor=${first.nextCursor}`)).json
      expect([...first.data, ...second.data].map(({ id }: { id: string }) => id)).to.deep.equal(
        ids.toReversed().map((id) => publicId('mail', id)),
      )
      const discard = () => ask('DELETE', `mails/${publicId('mail', ids[0]!)}`)
      expect([(await discard()).status, (await discard()).status]).to.deep.equal([200, 404])
      expect((await ask('POST', `mails/${publicId('mail', ids[0]!)}/retry`)).status, 'for good').to.equal(404)
      expect((await ask('GET', 'actions?action=mail_discarded')).json.data).to.have.lengthOf(1)
    })

    it('shows everybody the banner from its time on, one at a time, until it is over or removed', async () => {
      const shown = async () => (await get(`${web.url}/api/banner`)).json.banner?.text ?? null
      expect(await shown()).to.equal(null)
      for (const body of [{}, { text: ' ' }, { text: 'x'.repeat(301) }, { text: 'x', level: 'loud' }])
        expect((await ask('PUT', 'banner', body)).status, JSON.stringify(body)).to.equal(400)
      for (const end of ['2020-01-01', '2998-01-01'])
        expect((await ask('PUT', 'banner', { text: 'x', from: '2999-01-01', until: end })).status).to.equal(400)
      const coming = (await ask('PUT', 'banner', { text: 'Later', from: '2999-01-01' })).json.banner
      expect(coming).to.include({ text: 'Later', level: 'info', until: null })
      await Promise.all(
        ['One', 'Two', 'Three'].map((text) =>
          setBanner(web.db, null, { id: newId('banner'), text, level: 'critical', from: null, until: null }),
        ),
      )
      const standing = (await ask('GET', 'banner')).json.banner
      await until('it is shown', async () => (await shown()) === standing.text)
      expect((await ask('DELETE', 'banner')).status).to.equal(200)
      expect((await ask('GET', 'banner')).json.banner).to.equal(null)
      await until('it is gone', async () => (await shown()) === null)
      const actions = (await ask('GET', 'actions')).json.data.map(({ action }: { action: string }) => action)
      expect(actions.slice(0, 5)).to.deep.equal('banner_removed banner_set banner_set banner_set banner_set'.split(' '))
    })
  })

  describe('/api/operator/calls', () => {
    let ada: TestAccount
    let bob: TestAccount
    const ids: string[] = []
    before(async () => {
      ;[ada, bob] = [await anAccount(web.db, 1000), await anAccount(web.db, 1000)]
      const calls = verbs(web.db)
      for (const [account, fails] of [
        [ada, false],
        [bob, true],
        [ada, true],
        [bob, false],
        [ada, false],
      ] as const) {
        const id = await opened(calls, account, 10)
        if (fails) await calls.refund(id, gatewayError('upstream_failed'))
        else await calls.settle(id, 'image', aResult(10))
        ids.unshift(publicId('call', id))
      }
    })

    const list = async (query: string) => (await web.get(`/api/operator/calls?${query}`, operator.token)).json
    const found = async (query: string): Promise<number[]> =>
      (await list(query)).data.map(({ id }: { id: string }) => ids.indexOf(id))

    it('lists the calls of all accounts, newest first, in pages that do not shift', async () => {
      const first = await list('limit=2')
      const due = [ada.email, bob.email]
      expect(first.data.map(({ accountEmail }: { accountEmail: string }) => accountEmail)).to.deep.equal(due)
      await opened(verbs(web.db), ada, 1)
      const second = await list(`limit=2&cursor=${first.nextCursor}`)
      const third = await list(`limit=2&cursor=${second.nextCursor}`)
      expect([...second.data, ...third.data].map(({ id }: { id: string }) => ids.indexOf(id))).to.deep.equal([2, 3, 4])
      expect(third.nextCursor).to.equal(null)
      const oldest = await list('limit=2&sort=oldest')
      const next = await list(`limit=2&sort=oldest&cursor=${oldest.nextCursor}`)
      expect([...oldest.data, ...next.data].map(({ id }: { id: string }) => ids.indexOf(id))).to.deep.equal([
        4, 3, 2, 1,
      ])
    })

    it('narrows them by account, key, state, error, upstream and time', async () => {
      expect(await found(`account=${bob.email}`)).to.deep.equal([1, 3])
      expect(await found(`account=${bob.email}&sort=oldest`)).to.deep.equal([3, 1])
      expect(await found(`account=${publicId('account', bob.id)}&status=failed`)).to.deep.equal([3])
      expect(await found(`keyId=${publicId('key', bob.keyId)}`)).to.deep.equal([1, 3])
      expect(await found(`keyId=${publicId('key', bob.keyId)}&account=${ada.email}`)).to.deep.equal([])
      expect(await found('account=nobody@example.com')).to.deep.equal([])
      expect(await found('status=failed')).to.deep.equal([2, 3])
      expect(await found('errorType=upstream_failed&limit=1')).to.deep.equal([2])
      expect(await found('errorType=rate_limited')).to.deep.equal([])
      expect(await found('upstream=nowhere')).to.deep.equal([])
      expect(await found('modality=image&status=failed')).to.deep.equal([2, 3])
      expect(await found('dialect=chat')).to.deep.equal([])
      expect(await found('status=succeeded&from=2020-01-01')).to.deep.equal([0, 1, 4])
      expect(await found('to=2020-01-01')).to.deep.equal([])
      expect((await web.get('/api/operator/calls?from=soon', operator.token)).status).to.equal(400)
    })

    it('looks at so many calls and no more, and goes on where it stopped', async () => {
      for (const filter of [{ upstream: 'nowhere' }, { accountId: ada.id, upstream: 'nowhere' }]) {
        const looks: number[] = []
        let after: Awaited<ReturnType<typeof listAnyCalls>>['next'] = null
        do {
          const page: Awaited<ReturnType<typeof listAnyCalls>> = await listAnyCalls(web.db, filter, 10, after, 2)
          looks.push(page.calls.length)
          after = page.next
        } while (after)
        expect(looks, 'empty pages, and an end').to.deep.equal(filter.accountId ? [0, 0, 0] : [0, 0, 0, 0])
      }
    })
  })

  describe('/api/operator/webhooks', () => {
    const ask = (method: string, path: string, body?: object, who: Person = operator) =>
      send(method, `${web.url}/api/${path}`, { key: who.token, ...(body && { body }) })

    it('are nothing to customers, and lead to no webhook of theirs', async () => {
      const customer = await aVisitor(web)
      expect((await ask('GET', 'operator/webhooks', undefined, customer)).status).to.equal(403)
      const theirs = await ask('POST', 'webhooks', { url: 'https://theirs.example/', types: ['chat'] }, customer)
      const path = `operator/webhooks/${theirs.json.webhook.id}`
      const replies = [
        await ask('PATCH', path, { disabled: true }),
        await ask('POST', `${path}/rotate`),
        await ask('POST', `${path}/test`),
        await ask('GET', path),
        await ask('GET', `${path}/deliveries`),
        await ask('POST', `${path}/deliveries/whd_${'0'.repeat(32)}/redeliver`),
        await ask('DELETE', path),
      ]
      expect(replies.map(({ status }) => status)).to.deep.equal(replies.map(() => 404))
      const refused = await ask('POST', 'operator/webhooks', { url: 'https://house.example/', types: ['chat'] })
      expect([refused.status, refused.json.message]).to.deep.equal([
        400,
        `types[0] must be one of ${OPERATOR_TYPES.join(', ')}.`,
      ])
    })
  })
})
