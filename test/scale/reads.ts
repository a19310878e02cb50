import { randomBytes } from 'node:crypto'
import { allOf } from '../../src/shared/identity/members.ts'
import { newSecret } from '../../src/shared/identity/api-keys.ts'
import { createKeyLookup } from '../../src/shared/identity/key-lookup.ts'
import { listKeys } from '../../src/shared/identity/shown-key.ts'
import { deleteOldNetworks, isLoginNetwork, networkHash } from '../../src/shared/identity/login.ts'
import { findSession, deleteExpiredSessions, listSessions } from '../../src/shared/identity/sessions.ts'
import { findUserByEmail } from '../../src/shared/identity/users.ts'
import { oldestQueued } from '../../src/shared/reports/backlog.ts'
import { listAnyCalls } from '../../src/shared/reports/all-calls.ts'
import { listCalls } from '../../src/shared/reports/call-list.ts'
import { tallyLastDay, upstreamHours, upstreamsOfLastHour } from '../../src/shared/reports/last-day.ts'
import { findDetails } from '../../src/shared/reports/call-details.ts'
import { findEnded, findRecord, findRecords, readState } from '../../src/shared/reports/call-records.ts'
import { waitingProcesses } from '../../src/shared/calls/numbered-retries.ts'
import { freeIdempotencyKeys, deleteExpiredResults } from '../../src/shared/calls/retention.ts'
import { latencyOfAccount, latencyOfModels } from '../../src/shared/reports/latency.ts'
import { keyUsageByDay, usageByDay, usageByHour } from '../../src/shared/reports/usage.ts'
import type { Db, Trx } from '../../src/shared/platform/postgres/db.ts'
import { newId } from '../../src/shared/platform/ids.ts'
import type { CallId } from '../../src/shared/platform/ids.ts'
import { entriesOfCall, expireGrants, listEntries, listGrants } from '../../src/shared/ledger/ledger.ts'
import { countMail, deleteOldCounts } from '../../src/shared/mail/allowance.ts'
import {
  dueMails,
  deleteOldMails,
  listMails,
  mailBacklog,
  verificationsOfLastHour,
} from '../../src/shared/mail/mails.ts'
import { findAccounts, holdersOf } from '../../src/shared/operators/accounts.ts'
import { openingsOfDay } from '../../src/shared/operators/upstreams.ts'
import { listActions } from '../../src/shared/action-log/actions.ts'
import type { LoadedAccount } from '../../scripts/harness/loaded-books.ts'
import { mailboxes } from '../../scripts/harness/factories.ts'
import { spendableCredits, verbs } from '../shared/calls/opening.ts'

/** Which account is read: one among thousands, or the one that has a tenth of all calls. */
type Scene = { db: Db; mine: LoadedAccount; call: CallId }

/** `sorts`: Postgres may sort what the index has found. */
export type Read = { read: (scene: Scene) => Promise<unknown>; index: string; sorts?: true }

/** A read that must use an index, and have its order. */
const by = (index: string, read: Read['read']): Read => ({ read, index })

/** A read that must use an index, of so few rows that Postgres may sort them afterwards. */
const sorted = (index: string, read: Read['read']): Read => ({ read, index, sorts: true })

const place = { micros: Date.now() * 1000 - 86_400_000_000, id: newId('call') }
const day = (ago: number) => new Date(Date.now() - ago * 86_400_000)
const date = (ago: number) => day(ago).toISOString().slice(0, 10)
const inTrx = (db: Db, work: (trx: Trx) => Promise<unknown>) => db.transaction(work)

const SOME_DAYS = { from: day(9), before: day(2) }
const EVERY_FILTER = { model: 'bench-chat', modality: 'chat', status: 'succeeded', ...SOME_DAYS } as const

/** Lists of calls, of an account or of all, and of accounts, from some place on. */
const calls =
  (filter: Parameters<typeof listCalls>[2] = {}, from: typeof place | null = null) =>
  ({ db, mine }: Scene) =>
    listCalls(db, allOf(mine.id), filter, 50, from)
const anyCalls =
  (filter: Parameters<typeof listAnyCalls>[1], from: typeof place | null = null, most?: number) =>
  ({ db }: Scene) =>
    listAnyCalls(db, filter, 50, from, most)
const accounts =
  (wanted: Partial<Parameters<typeof findAccounts>[1]>, key?: number | null) =>
  ({ db }: Scene) =>
    findAccounts(
      db,
      { text: '', sort: 'newest', ...wanted },
      50,
      key === undefined ? undefined : { key, id: newId('account') },
    )

const aCountedMail = () => ({
  mailId: newId('mail'),
  mailbox: mailboxes('somebody@example.com'),
  kind: 'reset' as const,
  hourlyLimit: 5,
})

const aRetry = ({ id, userId, keyId }: LoadedAccount) => ({
  accountId: id,
  userId,
  keyId,
  requestHash: 'ab'.repeat(32),
  replyTo: 'here',
})

/** What `claim_call` reads. */
const retried = ({ db, mine }: Scene, which: string) =>
  db.raw(
    `SELECT c.id FROM retried_calls(?, ?, decode(?, 'hex'), true) c WHERE ${which} ORDER BY c.created_at, c.id LIMIT 1`,
    [mine.id, mine.keyId, aRetry(mine).requestHash],
  )

/** Every list and look-up in the code, by what runs it, and the index that it must use. */
export const READS: Record<string, Record<string, Read>> = {
  'the console': {
    calls: by('calls_account_time', calls()),
    'a later page of calls': by('calls_account_time', calls({}, place)),
    'calls of a model': by('calls_account_time', calls({ model: 'bench-video' })),
    'calls of a modality': by('calls_account_time', calls({ modality: 'image' }, place)),
    'calls of a status': sorted('calls_account_time', calls({ status: 'failed' })),
    'calls that run': sorted('calls_', calls({ status: 'running' })),
    'calls of a key': by('calls_account_time', (scene) => calls({ keyId: scene.mine.keyId })(scene)),
    'calls of some days': by('calls_account_time', calls(SOME_DAYS, place)),
    'calls by every filter': sorted('calls_account_time', (scene) =>
      calls({ ...EVERY_FILTER, keyId: scene.mine.keyId }, place)(scene),
    ),
    'a call': by('calls_pkey', ({ db, mine, call }) => findRecord(db, call, allOf(mine.id))),
    'some calls': sorted('calls_', ({ db, mine, call }) => findRecords(db, [call, newId('call')], allOf(mine.id))),
    'the details of a call': by('calls_pkey', ({ db, call }) => findDetails(db, call)),
    'entries of a call': sorted('ledger_entries_once_per_call', ({ db, call }) => entriesOfCall(db, call)),
    usage: sorted('usage_rows', ({ db, mine }) => usageByDay(db, allOf(mine.id), date(29), date(0))),
    'usage by hour': sorted('usage_rows', ({ db, mine }) =>
      usageByHour(db, allOf(mine.id), { from: day(2), to: day(0), keyId: null }),
    ),
    'usage by key': sorted('usage_rows', ({ db, mine }) => keyUsageByDay(db, allOf(mine.id), date(29), date(0))),
    latency: sorted('calls_account_time', ({ db, mine }) => latencyOfAccount(db, allOf(mine.id), date(29), date(0))),
    'the latency of models': sorted('calls_pkey', ({ db }) => latencyOfModels(db)),
    'the ledger': by('ledger_entries_pkey', ({ db, mine }) => listEntries(db, mine.id, 50, null)),
    'a later page of the ledger': by('ledger_entries_pkey', ({ db, mine }) => listEntries(db, mine.id, 50, 9)),
    grants: sorted('grants_account', ({ db, mine }) => listGrants(db, mine.id)),
    keys: sorted('api_keys_', ({ db, mine }) => listKeys(db, allOf(mine.id))),
    sessions: sorted('sessions_user', ({ db, mine }) => listSessions(db, mine.userId, newId('session'))),
    'a session': by('sessions_token_hash_key', ({ db }) => findSession(db, randomBytes(32).toString('base64url'))),
    'a network that somebody has logged in from': by('login_networks_pkey', ({ db }) =>
      isLoginNetwork(db, 'somebody@example.com', networkHash('secret', '10.0.0.1')),
    ),
    'an account by its address': sorted('users_email_key', ({ db }) => findUserByEmail(db, 'somebody@example.com')),
    'verification mails of an account': by('mails_user', ({ db, mine }) =>
      inTrx(db, (trx) => verificationsOfLastHour(trx, mine.userId, 5)),
    ),
  },
  'the gateway': {
    'the holder of a key': by('api_keys_hash_key', ({ db }) => createKeyLookup(db).find(newSecret(), '192.0.2.1')),
    'the state of a call': by('calls_pkey', ({ db, call }) => readState(db, call)),
    'which calls have ended': by('calls_pkey', ({ db, call }) => findEnded(db, [call, newId('call')])),
    'the call that a retry joins': by('calls_left_in_order', (scene) => retried(scene, 'c.abandoned_at < now()')),
    'the call that a dead process left': sorted('calls_', (scene) =>
      retried(scene, "c.abandoned_at IS NULL AND c.reply_to = 'dead'"),
    ),
    'the processes that a retry asks for': sorted('calls_waited_for', ({ db, mine }) =>
      waitingProcesses(db, aRetry(mine)),
    ),
    'what an account can spend': sorted('grants_account', ({ db, mine }) => spendableCredits(db, mine.id)),
  },
  'an operator': {
    'the newest accounts': by('on accounts', accounts({})),
    'an account by its id': by('on accounts', (scene) =>
      accounts({ text: `acc_${scene.mine.id.replaceAll('-', '')}` })(scene),
    ),
    // In the order of the index: in the worst case, a text that no address has, it reads every account.
    'accounts by a part of their address, later': by('on accounts', accounts({ text: '-7' }, null)),
    'accounts that owe': sorted('accounts_in_debt', accounts({ sort: 'debt' }, 9)),
    'accounts that are suspended': by('accounts_suspended', accounts({ standing: 'suspended' })),
    actions: by('operator_actions_pkey', ({ db }) => listActions(db, {}, 50)),
    'actions on an account': sorted('operator_actions_account', ({ db, mine }) =>
      listActions(db, { accountId: mine.id }, 50),
    ),
    'all calls': by('calls_pkey', anyCalls({})),
    'all calls of an upstream, later': by('calls_pkey', anyCalls({ upstream: 'none', ...SOME_DAYS }, place, 100)),
    'all calls that failed': by('calls_of_errors', anyCalls({ status: 'failed', errorType: 'upstream_failed' })),
    'the calls of an account': sorted('calls_account_time', (scene) =>
      anyCalls({ accountId: scene.mine.id, upstream: 'none' }, place)(scene),
    ),
    'the calls of the last day': sorted('usage_rows', ({ db }) => tallyLastDay(db, 5)),
    'the hours of upstreams': sorted('usage_rows', ({ db }) => upstreamHours(db)),
    'the openings of circuits': sorted('circuit_openings_pkey', ({ db }) => openingsOfDay(db)),
    'the holders of accounts': sorted('members_one_owner', ({ db, mine }) => holdersOf(db, [mine.id])),
    'upstreams of the last hour': sorted('calls_ended', ({ db }) => upstreamsOfLastHour(db)),
    'mails that were given up': by('mails_dead', ({ db }) => listMails(db, ['dead'], 50)),
    mails: by('mails_pkey', ({ db }) => listMails(db, ['queued', 'sending', 'sent', 'skipped', 'dead'], 50)),
  },
  'the reconciler': {
    'calls past their lease': sorted('calls_open', ({ db }) => verbs(db).findStale(200)),
    'results past their time': by('call_results_expiry', ({ db }) => deleteExpiredResults(db, 2000)),
    'idempotency keys past their time': by('calls_idempotency_expiry', ({ db }) => freeIdempotencyKeys(db, 2000)),
    'grants past their time': by('grants_expiry', ({ db }) => expireGrants(db, 200)),
    'mails that are due': by('mails_due', ({ db }) => dueMails(db, 30, 200)),
    'mails past their time': sorted('mails_finished', ({ db }) => deleteOldMails(db)),
    'sessions past their time': by('sessions_expiry', ({ db }) => deleteExpiredSessions(db)),
    'networks past their time': by('login_networks_age', ({ db }) => deleteOldNetworks(db)),
    // Of a mailbox's few mails of an hour, perhaps under two secrets.
    'mails of a mailbox in the last hour': sorted('mailbox_mails_mailbox', ({ db }) =>
      inTrx(db, (trx) => countMail(trx, aCountedMail())),
    ),
    'counts of mails past their time': by('mailbox_mails_old', ({ db }) => deleteOldCounts(db)),
  },
  'the metrics': {
    'the oldest call that waits': sorted('calls_open', ({ db }) => oldestQueued(db)),
    'the mails that wait': by('mails_due', ({ db }) => mailBacklog(db)),
  },
}
