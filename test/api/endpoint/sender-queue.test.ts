import { expect } from 'chai'
import { aVisitor } from '../../support/console.ts'
import { aMember, anOrganisation } from '../../../scripts/harness/factories.ts'
import type { TestMember } from '../../../scripts/harness/factories.ts'
import { get, send } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import { publicId } from '../../../src/shared/platform/ids.ts'
import { openSession } from '../../../src/shared/identity/sessions.ts'
import { useDescribed } from '../console/support/records.ts'

/** Requests at once: those that are worked on (a quarter of the pool of ten), those that wait, and more. */
const [WORKED_ON, WAITING, MORE] = [3, 500, 7]

describe('many requests of one person at once', () => {
  const web = useDescribed()

  it('wait for their turns, are refused where too many wait, and leave Postgres to the others', async () => {
    const [{ token }, other] = [await aVisitor(web), await aVisitor(web)]
    const holder = await web.db.transaction()
    await holder.raw('LOCK TABLE calls IN ACCESS EXCLUSIVE MODE')
    const statuses: number[] = []
    const asked = Array.from({ length: WORKED_ON + WAITING + MORE }, async () => {
      const { status, headers } = await ask('GET', '/api/calls', token)
      if (status === 429) expect(Number(headers.get('retry-after'))).to.be.above(0)
      statuses.push(status)
    })
    try {
      await until('the refusals', () => statuses.length === MORE)
      expect(new Set(statuses)).to.deep.equal(new Set([429]))
      expect((await ask('GET', '/api/keys', other.token)).status).to.equal(200)
      expect((await get(`${web.url}/readyz`)).status).to.equal(200)
    } finally {
      await holder.rollback()
    }
    await Promise.all(asked)
    expect(statuses.filter((status) => status === 200)).to.have.lengthOf(WORKED_ON + WAITING)
    expect((await ask('GET', '/api/calls', token)).status, 'afterwards').to.equal(200)
  })

  it('of a member leave the console to the owner, who removes them', async () => {
    const organisation = await anOrganisation(web.db)
    const member = await aMember(web.db, organisation)
    await whileBusy(member.token, async () => {
      const { status } = await ask('DELETE', `/api/members/${publicId('user', member.userId)}`, organisation.token)
      expect(status).to.equal(200)
    })
  })

  it('are counted together for whatever accounts one person sends them', async () => {
    const [person, stranger] = [await anOrganisation(web.db), await anOrganisation(web.db)]
    const token = await anotherSessionOf(person)
    let isServed = false
    const asked = await whileBusy(person.token, async () => {
      const keys = ask('GET', '/api/keys', token).then(({ status }) => {
        isServed = true
        return status
      })
      expect((await ask('GET', '/api/keys', stranger.token)).status).to.equal(200)
      expect((await ask('GET', '/api/keys', stranger.token)).status).to.equal(200)
      expect(isServed).to.equal(false)
      return { keys }
    })
    expect(await asked.keys).to.equal(200)
  })

  const ask = (method: string, path: string, key: string) => send(method, `${web.url}${path}`, { key })

  /** Does something while as many requests of a session are worked on as may be, and do not end. */
  async function whileBusy<T>(token: string, act: () => Promise<T>): Promise<T> {
    const holder = await web.db.transaction()
    await holder.raw('LOCK TABLE calls IN ACCESS EXCLUSIVE MODE')
    const asked = Array.from({ length: WORKED_ON }, () => ask('GET', '/api/calls', token))
    try {
      await until('the requests to be worked on', async () => (await waitingForCalls()) === WORKED_ON)
      return await act()
    } finally {
      await holder.rollback()
      await Promise.all(asked)
    }
  }

  async function waitingForCalls(): Promise<number> {
    const { rows } = await web.db.raw<{ rows: unknown[] }>(
      `SELECT FROM pg_locks WHERE NOT granted AND relation = 'calls'::regclass
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    )
    return rows.length
  }

  /** A session of a person for an organisation beside theirs. */
  async function anotherSessionOf({ userId }: TestMember): Promise<string> {
    const { id } = await anOrganisation(web.db)
    await web.db('members').insert({ user_id: userId, account_id: id, account_kind: 'organisation', role: 'admin' })
    const session = { userId, accountId: id, passwordHash: 'none', userAgent: '', ip: '' }
    return (await openSession(web.db, session))!.token
  }

  it('are two downloads of a kind, and the next one when they are over', async () => {
    const { api } = await web.signedIn()
    const holder = await web.db.transaction()
    await holder.raw('LOCK TABLE calls IN ACCESS EXCLUSIVE MODE')
    const statuses: number[] = []
    const downloads = [1, 2, 3].map(async () => statuses.push((await api('GET', '/api/exports/calls')).status))
    try {
      await until('a refusal', () => statuses.length === 1)
    } finally {
      await holder.rollback()
    }
    await Promise.all(downloads)
    expect(statuses).to.deep.equal([429, 200, 200])
    expect((await api('GET', '/api/exports/calls')).status).to.equal(200)
  })
})
