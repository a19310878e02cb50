import { expect } from 'chai'
import { listAnyCalls } from '../../../src/shared/reports/all-calls.ts'
import { gatewayError } from '../../../src/shared/platform/errors.ts'
import { parseId, publicId } from '../../../src/shared/platform/ids.ts'
import { setAccountRole } from '../../../src/shared/operators/changes.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import { newDatabaseUrl } from '../../../scripts/harness/database.ts'
import { aResult, opened, verbs } from '../../shared/calls/opening.ts'
import type { TestConsole } from '../../support/console.ts'
import { aPerson, consoleConfig, startConsole } from '../../support/console.ts'

describe('/api/operator/calls', () => {
  // A database of its own: it lists everybody's calls.
  let web: TestConsole
  let token: string
  let ada: TestAccount
  let bob: TestAccount
  const ids: string[] = []
  before(async () => {
    web = await startConsole(await consoleConfig({ DATABASE_URL: await newDatabaseUrl() }))
    const operator = await aPerson(web)
    token = operator.token
    await setAccountRole(web.db, null, parseId('account', operator.id)!, 'admin')
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
  after(() => web.stop())

  const list = async (query: string) => (await web.get(`/api/operator/calls?${query}`, token)).json
  const found = async (query: string): Promise<number[]> =>
    (await list(query)).data.map(({ id }: { id: string }) => ids.indexOf(id))

  it('lists the calls of all accounts, newest first, in pages that do not shift', async () => {
    const first = await list('limit=2')
    expect(first.data.map(({ accountEmail }: { accountEmail: string }) => accountEmail)).to.deep.equal([
      ada.email,
      bob.email,
    ])
    await opened(verbs(web.db), ada, 1)
    const second = await list(`limit=2&cursor=${first.nextCursor}`)
    const third = await list(`limit=2&cursor=${second.nextCursor}`)
    expect([...second.data, ...third.data].map(({ id }: { id: string }) => ids.indexOf(id))).to.deep.equal([2, 3, 4])
    expect(third.nextCursor).to.equal(null)
  })

  it('narrows them by account, key, state, error, upstream and time', async () => {
    expect(await found(`account=${bob.email}`)).to.deep.equal([1, 3])
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
    expect((await web.get('/api/operator/calls?from=soon', token)).status).to.equal(400)
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
