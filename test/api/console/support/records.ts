import { openSession } from '../../../../src/shared/identity/sessions.ts'
import type { Db } from '../../../../src/shared/platform/postgres/db.ts'
import { gatewayError } from '../../../../src/shared/platform/errors.ts'
import type { CallId, KeyId } from '../../../../src/shared/platform/ids.ts'
import type { Dialect } from '../../../../src/shared/chat/dialect.ts'
import type { Modality } from '../../../../src/shared/terms/kinds.ts'
import type { TestAccount } from '../../../../scripts/harness/factories.ts'
import { startTestWeb } from '../../../../scripts/harness/harness.ts'
import type { TestWeb } from '../../../../scripts/harness/harness.ts'
import { anAccount } from '../../../../scripts/harness/factories.ts'
import type { TestGrant } from '../../../../scripts/harness/factories.ts'
import type { Client, Described } from '../../support/described.ts'
import { aResult, callIdAt, opened, verbs } from '../../../shared/calls/opening.ts'
import { useFor } from '../../../support/gateway.ts'
import { describedClient, readDescribed } from '../../support/described.ts'

/** A web process whose answers are held against its own document. */
export type DescribedWeb = TestWeb & {
  described: Described
  signIn: (account: TestAccount) => Promise<Client>
  signedIn: (grants?: TestGrant[] | number) => Promise<SignedIn>
}

export type SignedIn = { account: TestAccount; api: Client }

export async function startDescribed(): Promise<DescribedWeb> {
  const web = await startTestWeb()
  const described = await readDescribed(web.url)
  const signIn = async (account: TestAccount): Promise<Client> => {
    const session = await openSession(web.db, {
      userId: account.userId,
      accountId: account.id,
      passwordHash: 'none',
      userAgent: 'test',
      ip: '127.0.0.1',
    })
    return describedClient(web.url, described, session!.token)
  }
  const signedIn = async (grants?: TestGrant[] | number): Promise<SignedIn> => {
    const account = await anAccount(web.db, grants)
    return { account, api: await signIn(account) }
  }
  return { ...web, described, signIn, signedIn }
}

/** The described web process of a suite. */
export const useDescribed = (): DescribedWeb => useFor(startDescribed, ({ stop }) => stop())

/** How a call is made. `end` null leaves it queued; `at` changes when it was accepted. */
export type MadeCall = {
  model?: string
  modality?: Modality
  dialect?: Dialect
  amount?: number
  cost?: number
  keyId?: KeyId
  at?: string
  end?: 'succeeded' | 'failed' | null
  tokens?: { input: number; output: number }
}

/** Makes a call with its verbs, as web and worker do. */
export async function aCall(db: Db, account: TestAccount, made: MadeCall = {}): Promise<CallId> {
  const {
    model = 'sandbox-image',
    modality = 'image',
    dialect,
    amount = 40,
    cost = amount,
    keyId = account.keyId,
    at,
    end = 'succeeded',
    tokens = null,
  } = made
  const calls = verbs(db)
  const accepted = at === undefined ? {} : { id: callIdAt(new Date(at)) }
  const order = { modality, dialect, model, estimate: tokens, ...accepted }
  const id = await opened(calls, { ...account, keyId }, amount, order)
  if (end !== null) await calls.begin(id)
  if (end === 'succeeded') {
    await calls.settle(id, modality, { ...aResult(cost), tokens })
  } else if (end === 'failed') {
    await calls.refund(id, gatewayError('upstream_failed'))
  }
  if (at !== undefined) await db('calls').where({ id }).update({ created_at: at })
  return id
}
