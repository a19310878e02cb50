import { expect } from 'chai'
import type { MemberRole } from '../../../src/shared/identity/members.ts'
import type { Endpoint } from '../../../src/api/endpoint/declaration.ts'
import { endpoints } from '../../../src/api/routes.ts'
import { aMember, anOrganisation } from '../../../scripts/harness/factories.ts'
import type { TestMember } from '../../../scripts/harness/factories.ts'
import { useConsole } from '../../support/console.ts'

const ROLES = ['owner', 'admin', 'member'] as const satisfies readonly MemberRole[]

/** Every endpoint of `/api` that asks for a login, by who may use it for the account that their session acts for. */
const TABLE: Record<'everyone' | 'owner and admins' | 'owner', string[]> = {
  everyone: [
    'post /api/auth/logout',
    'get /api/auth/me',
    'patch /api/auth/me',
    'post /api/auth/password',
    'post /api/auth/delete',
    'get /api/auth/sessions',
    'delete /api/auth/sessions/:id',
    'delete /api/auth/sessions',
    'post /api/email/resend',
    'post /api/email/change',
    'get /api/mail/status',
    'post /api/mail/test',
    'get /api/accounts',
    'post /api/auth/switch',
    'get /api/auth/second-factor',
    'post /api/auth/totp',
    'post /api/auth/totp/confirm',
    'delete /api/auth/totp',
    'get /api/auth/passkeys',
    'post /api/auth/passkeys/options',
    'post /api/auth/passkeys',
    'patch /api/auth/passkeys/:id',
    'delete /api/auth/passkeys/:id',
    'post /api/auth/proof',
    'get /api/identities',
    'post /api/identities/:id',
    'delete /api/identities/:id',
    'post /api/organisations',
    'delete /api/organisations/:id',
    'get /api/members',
    'delete /api/members/me',
    'post /api/invitations/accept',
    'post /api/keys',
    'get /api/keys',
    'patch /api/keys/:id',
    'post /api/keys/:id/rotate',
    'delete /api/keys/:id',
    'get /api/account',
    'get /api/models',
    'get /api/models/latency',
    'get /api/events',
    'get /api/calls',
    'get /api/calls/:id',
    'get /api/exports/calls',
    'get /api/usage',
    'get /api/usage/hours',
    'get /api/usage/keys',
    'get /api/usage/latency',
  ],
  'owner and admins': [
    'patch /api/members/:id',
    'delete /api/members/:id',
    'post /api/invitations',
    'get /api/invitations',
    'delete /api/invitations/:id',
    'get /api/ledger',
    'get /api/grants',
    'get /api/exports/ledger',
    'get /api/exports/members',
    'get /api/usage/members',
    'get /api/billing',
    'put /api/billing/settings',
    'delete /api/billing/card',
    'post /api/billing/checkout',
    'post /api/billing/redeem',
    'get /api/billing/payments',
    'get /api/billing/payments/:id',
    'post /api/billing/payments/:id/sync',
    'post /api/billing/payments/:id/cancel',
    'post /api/webhooks',
    'get /api/webhooks',
    'get /api/webhooks/callback-secret',
    'post /api/webhooks/callback-secret/rotate',
    'get /api/webhooks/:id',
    'patch /api/webhooks/:id',
    'delete /api/webhooks/:id',
    'post /api/webhooks/:id/rotate',
    'post /api/webhooks/:id/test',
    'get /api/webhooks/:id/deliveries',
    'get /api/webhooks/:id/deliveries/:delivery',
    'post /api/webhooks/:id/deliveries/:delivery/redeliver',
  ],
  owner: ['post /api/members/:id/make-owner'],
}

const MAY: Record<keyof typeof TABLE, readonly MemberRole[]> = {
  everyone: ROLES,
  'owner and admins': ['owner', 'admin'],
  owner: ['owner'],
}

describe('what each role may, of every endpoint of the console', () => {
  const web = useConsole()

  const asked = (endpoints as readonly Endpoint[]).filter(
    ({ path, auth }) => path.startsWith('/api/') && auth?.scheme === 'sessionToken' && auth.sees !== 'others',
  )
  const nameOf = ({ method, path }: Endpoint): string => `${method} ${path}`

  it('is in this table for each of them', () => {
    expect(asked.map(nameOf)).to.have.members(Object.values(TABLE).flat())
  })

  it('is nothing of the operators’, for any role', async () => {
    const { token } = await anOrganisation(web.db)
    const theirs = (endpoints as readonly Endpoint[]).filter(
      ({ path, offered }) => path.startsWith('/api/operator/') && (offered?.(web.config) ?? true),
    )
    expect(theirs.length).to.be.above(40)
    for (const one of theirs) expect(await statusOf(one, token), nameOf(one)).to.equal('403 forbidden')
  })

  /** The status of an answer, and its error. Nothing is at the ids of the paths. */
  async function statusOf({ method, path }: Pick<Endpoint, 'method' | 'path'>, token: string): Promise<string> {
    const response = await fetch(`${web.url}${path.replaceAll(/:\w+/g, 'nothing')}`, {
      method: method.toUpperCase(),
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(method !== 'get' && { body: '{}' }),
    })
    const isError = response.status >= 400
    const error = isError ? ((await response.json()) as { error: string }).error : ''
    if (!isError) await response.body?.cancel()
    return `${response.status} ${error}`.trim()
  }

  /** What ends a session or a membership where it is allowed. */
  const ENDING = ['post /api/auth/logout', 'delete /api/auth/sessions', 'delete /api/members/me']

  it('is refused or let in as the table has it', async () => {
    const anyone = async (): Promise<Record<MemberRole, TestMember>> => {
      const owner = await anOrganisation(web.db)
      return { owner, admin: await aMember(web.db, owner, { role: 'admin' }), member: await aMember(web.db, owner) }
    }
    const people = await anyone()
    for (const [who, names] of Object.entries(TABLE) as [keyof typeof TABLE, string[]][]) {
      for (const name of names) {
        const one = asked.find((endpoint) => nameOf(endpoint) === name)!
        expect(one.auth!.roles ?? ROLES, name).to.deep.equal(MAY[who])
        if (!(one.offered?.(web.config) ?? true)) continue
        const callers = ENDING.includes(name) ? await anyone() : people
        for (const role of ROLES) {
          const status = await statusOf(one, callers[role].token)
          if (MAY[who].includes(role)) expect(status, `${role}: ${name}`).not.to.match(/^401|^403 forbidden/)
          else expect(status, `${role}: ${name}`).to.equal('403 forbidden')
        }
      }
    }
  })
})
