import { expect } from 'chai'
import { revokeKey } from '../../../../src/shared/identity/api-keys.ts'
import { endMembership } from '../../../../src/shared/identity/member-changes.ts'
import { allOf } from '../../../../src/shared/identity/members.ts'
import { listKeys } from '../../../../src/shared/identity/shown-key.ts'
import { listActions } from '../../../../src/shared/action-log/actions.ts'
import { deleteAccount, setAccountStatus } from '../../../../src/shared/operators/changes.ts'
import { importPlan } from '../../../../src/shared/operators/import/apply.ts'
import type { ImportPlan } from '../../../../src/shared/operators/import/plan.ts'
import { preparePlan } from '../../../../src/shared/operators/import/prepare.ts'
import { runImport } from '../../../../src/shared/operators/import/report.ts'
import type { AccountId, UserId } from '../../../../src/shared/platform/ids.ts'
import { useBooks } from '../../../support/database.ts'
import { aPlan, aPlannedOrganisation, aPlannedUser, anImportedKey } from './plans.ts'

const SECRET = `sk-${'s'.repeat(48)}`

describe('what of a plan can be imported', () => {
  /** What is listed, of whom. */
  const CASES: [what: string, plan: Partial<ImportPlan>, listed: [what: string, theirId: string, reason: RegExp][]][] =
    [
      ['a user without an address', { users: [aPlannedUser('1', { email: ' ' })] }, [['user', '1', /^no e-mail/]]],
      [
        'a user with a wrong one',
        { users: [aPlannedUser('1', { email: 'a@b' })] },
        [['user', '1', /^an invalid e-mail/]],
      ],
      [
        'two users with one address',
        { users: [aPlannedUser('1', { email: 'a@x.com' }), aPlannedUser('2', { email: 'A@x.com' })] },
        [['user', '2', /same e-mail address.*claim/]],
      ],
      ['an operator', { users: [aPlannedUser('1', { isOperator: true })] }, [['operator', '1', /not imported/]]],
      [
        'a negative balance',
        { users: [aPlannedUser('1', { grantCredits: -7n })] },
        [['balance', '1', /-7.*becomes 0/]],
      ],
      [
        'another hash',
        { users: [aPlannedUser('1', { bcrypt: '$2b$12$x' })] },
        [['password', '1', /not bcrypt of cost/]],
      ],
      ['an unknown group', { users: [aPlannedUser('1', { group: 'vip' })] }, [['group', '1', /no group "vip"/]]],
      ['a group that is there', { users: [aPlannedUser('1', { group: 'known' })] }, []],
      ['an id twice', { users: [aPlannedUser('1'), aPlannedUser('1')] }, [['user', '1', /another one with this id/]]],
      ['a limit of nothing', { users: [aPlannedUser('1', { rateLimit: 0 })] }, [['limit', '1', /becomes 1/]]],
      ['no owner', { organisations: [aPlannedOrganisation('o', '9')] }, [['organisation', 'o', /owner 9/]]],
      [
        'members who are none',
        {
          users: [aPlannedUser('1')],
          organisations: [
            aPlannedOrganisation('o', '1', {
              members: ['1', '9'].map((userId) => ({ userId, role: 'admin', budget: null })),
            }),
          ],
        },
        [
          ['member', 'o/1', /owner/],
          ['member', 'o/9', /not imported/],
        ],
      ],
      [
        'a key of nobody',
        { keys: [anImportedKey('9', SECRET, { theirId: 'k' })] },
        [['key', 'k', /account \(user 9\)/]],
      ],
    ]
  const KEYS: [what: string, fields: Parameters<typeof anImportedKey>[2], reason: RegExp][] = [
    ['no hash', { hash: 'x' }, /not SHA-256/],
    ['no model that it may call', { models: [] }, /models cannot be kept/],
    ['too many models', { models: Array.from({ length: 101 }, (_, nth) => `m${nth}`) }, /models cannot be kept/],
    ['a network that is none', { networks: ['10.0.0.0/8', 'office'] }, /networks cannot be kept/],
  ]
  for (const [what, fields, reason] of KEYS) {
    CASES.push([
      `a key with ${what}`,
      { users: [aPlannedUser('1')], keys: [anImportedKey('1', SECRET, { theirId: 'k', ...fields })] },
      [['key', 'k', reason]],
    ])
  }
  for (const [what, plan, expected] of CASES) {
    it(`lists ${what}`, () => {
      const [, listed] = preparePlan(aPlan(plan), new Set(['known']))
      expect(listed.map(({ what: of, theirId }) => [of, theirId])).to.deep.equal(expected.map((one) => one.slice(0, 2)))
      for (const [nth, { reason }] of listed.entries()) expect(reason).to.match(expected[nth]![2])
    })
  }
})

describe('an import', () => {
  const db = useBooks({ isOwn: true })
  let sources = 0
  const aSource = () => ({ name: `source ${++sources}`, gateway: 'new-api' })
  /** Ids of a source of its own, so that each test has its own addresses and keys. */
  const planOf = (sourceName: string): ImportPlan => {
    const [a, b, c] = ['a', 'b', 'c'].map((id) => `${id} of ${sourceName}`) as [string, string, string]
    const email = (name: string) => `${name.replaceAll(' ', '-')}@example.com`
    return aPlan({
      users: [
        aPlannedUser(a, { email: email(a), name: 'Ada', grantCredits: 1_000n, rateLimit: 7 }),
        aPlannedUser(b, { email: '', grantCredits: 30n, isSuspended: true }),
        aPlannedUser(c, { email: email(c), grantCredits: 10n ** 13n }),
      ],
      organisations: [
        aPlannedOrganisation(`o of ${sourceName}`, a, {
          name: 'engines.example',
          grantCredits: 5n,
          members: [{ userId: c, role: 'admin', budget: { credits: 9n, period: 'month', spentCredits: 4n } }],
        }),
      ],
      keys: [
        anImportedKey(a, `sk-1 ${sourceName}`, {
          theirId: '1',
          models: ['gpt'],
          networks: ['10.1.2.3/8'],
          expiresAt: new Date('2030-01-01T00:00:00Z'),
          rateLimit: 3,
          tokensPerMinute: 1000,
          budget: { credits: 100n, period: 'total', spentCredits: 60n },
        }),
        anImportedKey(a, `sk-2 ${sourceName}`, { theirId: '2', isDisabled: true }),
        anImportedKey(a, `sk-3 ${sourceName}`, {
          theirId: '3',
          account: { organisationId: `o of ${sourceName}` },
          memberId: c,
        }),
      ],
      theirSum: { amount: '5000001035', unit: 'quota' },
    })
  }
  const changed = (plan: ImportPlan, change: (draft: ImportPlan) => void): ImportPlan => {
    const copy = structuredClone(plan)
    change(copy)
    return copy
  }
  const accountOf = async (source: string, theirId: string) => {
    const origin = await db('import_origins')
      .where({ source, their_id: theirId })
      .whereIn('kind', ['user', 'organisation'])
      .first<{ account_id: AccountId; user_id: UserId }>('account_id', 'user_id')
    const account = await db('accounts').where({ id: origin.account_id }).first()
    return { id: origin.account_id, userId: origin.user_id, account }
  }
  const rows = async () => {
    const counts = await Promise.all(
      ['users', 'accounts', 'members', 'api_keys', 'grants', 'import_origins', 'operator_actions'].map((table) =>
        db(table).count({ count: '*' }).first(),
      ),
    )
    return counts.map((one) => Number((one as { count: string }).count))
  }

  it('reports without writing anything, and does exactly what it reported', async () => {
    const source = aSource()
    const plan = planOf(source.name)
    const before = await rows()
    const planned = await runImport(db, source, plan, false)
    expect(await rows()).to.deep.equal(before)
    const done = await runImport(db, source, plan, true)
    expect({ ...done, applied: false }).to.deep.equal(planned)
    expect(planned).to.deep.include({
      users: { found: 3, new: 3, known: 0, turnedOff: 1, withoutLogin: 1 },
      accounts: { found: 4, new: 4, known: 0, turnedOff: 1 },
      keys: { found: 3, new: 3, known: 0, turnedOff: 1 },
      members: 1,
      budgets: 2,
      credits: { theirs: plan.theirSum, before: '0', granted: '1035', after: '1035' },
    })
    expect(planned.exceptions.map(({ what, reason }) => `${what}: ${reason}`)).to.deep.equal([
      'user: no e-mail address: the account has no login until it is claimed (admin account claim)',
      'balance: 10000000000000 credits of this user are above the maximum of a grant: nothing is granted',
    ])

    const ada = await accountOf(source.name, `a of ${source.name}`)
    expect(ada.account).to.include({ credits: 1000, status: 'active', rate_limit: 7, keys_limited: true })
    expect(await db('grants').where({ account_id: ada.id }).pluck('origin')).to.deep.equal(['import'])
    const [off, key] = await listKeys(db, allOf(ada.id))
    expect(off).to.include({ name: 'a key' }).and.have.property('revokedAt').that.is.a('string')
    expect(key).to.deep.include({
      models: ['gpt'],
      allowedIps: ['10.0.0.0/8'],
      expiresAt: '2030-01-01T00:00:00.000Z',
      rateLimit: 3,
      tokensPerMinute: 1000,
      budget: { credits: 100, period: 'total', used: 60, remaining: 40, resetsAt: null },
      revokedAt: null,
    })
    const due = { status: 'suspended', credits: 30 }
    expect((await accountOf(source.name, `b of ${source.name}`)).account).to.include(due)
    const organisation = await accountOf(source.name, `o of ${source.name}`)
    expect(organisation.account).to.include({ kind: 'organisation', name: 'engines example', credits: 5 })
    const roles = ['admin', 'owner']
    expect(await db('members').where({ account_id: organisation.id }).orderBy('role').pluck('role')).to.deep.equal(
      roles,
    )
    const [action] = await listActions(db, { accountId: ada.id }, 5)
    expect(action).to.deep.include({ action: 'account_imported', operatorEmail: null })
    expect(action!.details).to.deep.equal({ source: source.name, credits: 1000, keys: 2, members: 0, revoked: 0 })
    expect(JSON.stringify(await db('import_origins'))).not.to.include('sk-')
  })

  it('imports only the difference a second time, and turns nothing on that is off', async () => {
    const source = aSource()
    const plan = planOf(source.name)
    await runImport(db, source, plan, true)
    const before = await rows()
    const again = await runImport(db, source, plan, true)
    expect(await rows()).to.deep.equal(before)
    expect(again).to.deep.include({ credits: { theirs: plan.theirSum, before: '1035', granted: '0', after: '1035' } })
    expect(again.keys).to.deep.equal({ found: 3, new: 0, known: 3, turnedOff: 0 })

    const [a, b, c, o] = ['a', 'b', 'c', 'o'].map((id) => `${id} of ${source.name}`) as [string, string, string, string]
    // Here: an operator activates one, a customer revokes a key, and a member is removed.
    const [ada, bob, ...others] = [await accountOf(source.name, a), await accountOf(source.name, b)]
    expect(others).to.deep.equal([])
    await setAccountStatus(db, null, bob.id, 'active')
    const organisation = await accountOf(source.name, o)
    const { userId: cy } = await accountOf(source.name, c)
    await db.transaction((trx) => endMembership(trx, { userId: cy, accountId: organisation.id }))
    // There: a balance rises, one falls, a key is turned off and one on, and a user is turned off.
    const later = changed(plan, ({ users, organisations, keys }) => {
      users[0]!.grantCredits = 1_400n
      users[0]!.isSuspended = true
      users[1]!.grantCredits = 20n
      organisations[0]!.grantCredits = 5n
      keys[0]!.isDisabled = true
      ;(keys[1] as { isDisabled: boolean }).isDisabled = false
    })
    const report = await runImport(db, source, later, true)
    expect(report.credits).to.deep.include({ before: '1035', granted: '400', after: '1435' })
    expect(report.exceptions.map(({ theirId, reason }) => `${theirId}: ${reason}`)).to.deep.include(
      `${b}: 30 credits were imported, and 20 are there: nothing is taken`,
    )
    expect((await accountOf(source.name, a)).account).to.include({ credits: 1400, status: 'suspended' })
    expect((await accountOf(source.name, b)).account).to.include({ credits: 30, status: 'active' })
    const keys = await listKeys(db, allOf(ada.id))
    expect(keys.filter(({ revokedAt }) => revokedAt === null)).to.deep.equal([])
    expect(await db('members').where({ account_id: organisation.id }).pluck('role')).to.deep.equal(['owner'])
    const repeated = await runImport(db, source, later, true)
    expect(repeated.credits.granted).to.equal('0')
    expect((await accountOf(source.name, b)).account.status).to.equal('active')
  })

  it('that was interrupted after any account continues there, and credits nobody twice', async () => {
    const source = aSource()
    const plan = planOf(source.name)
    for (let after = 0; after < 4; after++) {
      let accounts = 0
      const interrupted = importPlan(db, source, plan, {
        apply: true,
        done: () => {
          if (accounts++ === after) throw new Error('killed')
        },
      })
      expect(await interrupted.catch(String)).to.equal('Error: killed')
    }
    const { credits, keys } = await runImport(db, source, plan, true)
    expect([credits.after, keys.new]).to.deep.equal(['1035', 0])
    // Two at once take turns.
    const twin = aSource()
    const both = await Promise.all([0, 1].map(() => runImport(db, twin, planOf(twin.name), true)))
    expect(both.map(({ credits: { granted } }) => BigInt(granted)).reduce((sum, one) => sum + one)).to.equal(1035n)
  })

  it('gives no address, key or account twice, and does not import again what was deleted here', async () => {
    const [source, other] = [aSource(), aSource()]
    const plan = planOf(source.name)
    await runImport(db, source, plan, true)
    const second = await runImport(db, other, plan, true)
    expect(second.users).to.include({ new: 3, withoutLogin: 3 })
    expect(second.keys.new).to.equal(0)
    expect(second.exceptions.filter(({ reason }) => reason === 'a key here is the same')).to.have.lengthOf(3)
    const bob = await accountOf(source.name, `b of ${source.name}`)
    await deleteAccount(db, null, { userId: bob.userId, accountId: bob.id, force: true, passwordHash: 'none' })
    expect(JSON.stringify(await db('import_origins').where({ account_id: bob.id }))).not.to.include(' of source')
    const third = await runImport(db, source, plan, true)
    expect([third.users.new, third.credits.granted]).to.deep.equal([0, '0'])
    expect(third.exceptions.map(({ reason }) => reason)).to.include('the account was deleted here')
    expect(await revokeKey(db, allOf(bob.id), bob.id as never)).to.equal(false)
  })
})
