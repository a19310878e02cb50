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
import { findEnded, findOrigin, findRecord, findRecords, readState } from '../../src/shared/reports/call-records.ts'
import { waitingProcesses } from '../../src/shared/calls/numbered-retries.ts'
import { deleteOldCalls, freeIdempotencyKeys, deleteExpiredResults } from '../../src/shared/calls/retention.ts'
import { latencyOfAccount, latencyOfModels } from '../../src/shared/reports/latency.ts'
import { keyUsageByDay, usageByDay } from '../../src/shared/reports/usage.ts'
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
import { addressesOf, findAccounts } from '../../src/shared/operators/accounts.ts'
import { openingsOfDay } from '../../src/shared/operators/upstreams.ts'
import { listActions } from '../../src/shared/action-log/actions.ts'
import type { LoadedAccount } from '../../scripts/harness/loaded-books.ts'
import { mailboxes } from '../../scripts/harness/factories.ts'
import { spendableCredits, verbs } from '../shared/calls/opening.ts'

/** Which account is read: one among thousands, or the one that has a tenth of all calls. */
type Scene = { db: Db; mine: LoadedAccount; call: CallId }

/** `sorts`: an account has so few rows that Postgres may sort them after the index has found them. */
export type Read = { read: (scene: Scene) => Promise<unknown>; index: string; sorts?: true }

const place = { micros: Date.now() * 1000 - 86_400_000_000, id: newId('call') }
const day = (ago: number) => new Date(Date.now() - ago * 86_400_000)
const date = (ago: number) => day(ago).toISOString().slice(0, 10)
const inTrx = (db: Db, work: (trx: Trx) => Promise<unknown>) => db.transaction(work)

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
  db.raw(`SELECT c.id FROM retried_calls(?, ?, decode(?, 'hex'), true) c WHERE ${which} ORDER BY c.id LIMIT 1`, [
    mine.id,
    mine.keyId,
    aRetry(mine).requestHash,
  ])

/** Every list and look-up in the code, by what runs it, and the index that it must use. */
export const READS: Record<string, Record<string, Read>> = {
  'the console': {
    calls: { read: ({ db, mine }) => listCalls(db, allOf(mine.id), {}, 50, null), index: 'calls_account_time' },
    'a later page of calls': {
      read: ({ db, mine }) => listCalls(db, allOf(mine.id), {}, 50, place),
      index: 'calls_account_time',
    },
    'calls of a model': {
      read: ({ db, mine }) => listCalls(db, allOf(mine.id), { model: 'bench-video' }, 50, null),
      index: 'calls_account_time',
    },
    'calls of a modality': {
      read: ({ db, mine }) => listCalls(db, allOf(mine.id), { modality: 'image' }, 50, place),
      index: 'calls_account_time',
    },
    'calls of a status': {
      read: ({ db, mine }) => listCalls(db, allOf(mine.id), { status: 'failed' }, 50, null),
      index: 'calls_account_time',
      sorts: true,
    },
    'calls that run': {
      read: ({ db, mine }) => listCalls(db, allOf(mine.id), { status: 'running' }, 50, null),
      index: 'calls_',
      sorts: true,
    },
    'calls of a key': {
      read: ({ db, mine }) => listCalls(db, allOf(mine.id), { keyId: mine.keyId }, 50, null),
      index: 'calls_account_time',
    },
    'calls of some days': {
      read: ({ db, mine }) => listCalls(db, allOf(mine.id), { from: day(9), before: day(2) }, 50, place),
      index: 'calls_account_time',
    },
    'calls by every filter': {
      read: ({ db, mine }) =>
        listCalls(
          db,
          allOf(mine.id),
          {
            model: 'bench-chat',
            modality: 'chat',
            status: 'succeeded',
            keyId: mine.keyId,
            from: day(9),
            before: day(2),
          },
          50,
          place,
        ),
      index: 'calls_account_time',
      sorts: true,
    },
    'a call': { read: ({ db, mine, call }) => findRecord(db, call, allOf(mine.id)), index: 'calls_pkey' },
    'some calls': {
      read: ({ db, mine, call }) => findRecords(db, [call, newId('call')], allOf(mine.id)),
      index: 'calls_',
      sorts: true,
    },
    'the beginning of a call': { read: ({ db, call }) => findOrigin(db, call), index: 'calls_pkey' },
    'entries of a call': {
      read: ({ db, call }) => entriesOfCall(db, call),
      index: 'ledger_entries_once_per_call',
      sorts: true,
    },
    usage: {
      read: ({ db, mine }) => usageByDay(db, allOf(mine.id), date(29), date(0)),
      index: 'calls_account_time',
      sorts: true,
    },
    'usage by key': {
      read: ({ db, mine }) => keyUsageByDay(db, allOf(mine.id), date(29), date(0)),
      index: 'calls_account_time',
      sorts: true,
    },
    latency: {
      read: ({ db, mine }) => latencyOfAccount(db, allOf(mine.id), date(29), date(0)),
      index: 'calls_account_time',
      sorts: true,
    },
    'the latency of models': { read: ({ db }) => latencyOfModels(db), index: 'calls_pkey', sorts: true },
    'the ledger': { read: ({ db, mine }) => listEntries(db, mine.id, 50, null), index: 'ledger_entries_pkey' },
    'a later page of the ledger': {
      read: ({ db, mine }) => listEntries(db, mine.id, 50, 9),
      index: 'ledger_entries_pkey',
    },
    grants: { read: ({ db, mine }) => listGrants(db, mine.id), index: 'grants_account', sorts: true },
    keys: { read: ({ db, mine }) => listKeys(db, allOf(mine.id)), index: 'api_keys_', sorts: true },
    sessions: {
      read: ({ db, mine }) => listSessions(db, mine.userId, newId('session')),
      index: 'sessions_user',
      sorts: true,
    },
    'a session': {
      read: ({ db }) => findSession(db, randomBytes(32).toString('base64url')),
      index: 'sessions_token_hash_key',
    },
    'a network that somebody has logged in from': {
      read: ({ db }) => isLoginNetwork(db, 'somebody@example.com', networkHash('secret', '10.0.0.1')),
      index: 'login_networks_pkey',
    },
    'an account by its address': {
      read: ({ db }) => findUserByEmail(db, 'somebody@example.com'),
      index: 'users_email_key',
      sorts: true,
    },
    'verification mails of an account': {
      read: ({ db, mine }) => inTrx(db, (trx) => verificationsOfLastHour(trx, mine.userId, 5)),
      index: 'mails_user',
    },
  },
  'the gateway': {
    'the holder of a key': {
      read: ({ db }) => createKeyLookup(db).find(newSecret(), '192.0.2.1'),
      index: 'api_keys_hash_key',
    },
    'the state of a call': { read: ({ db, call }) => readState(db, call), index: 'calls_pkey' },
    'which calls have ended': { read: ({ db, call }) => findEnded(db, [call, newId('call')]), index: 'calls_pkey' },
    'the call that a retry joins': {
      read: (scene) => retried(scene, 'c.abandoned_at < now()'),
      index: 'calls_to_join',
      sorts: true,
    },
    'the call that a dead process left': {
      read: (scene) => retried(scene, "c.abandoned_at IS NULL AND c.reply_to = 'dead'"),
      index: 'calls_',
      sorts: true,
    },
    'the processes that a retry asks for': {
      read: ({ db, mine }) => waitingProcesses(db, aRetry(mine)),
      index: 'calls_to_join',
      sorts: true,
    },
    'what an account can spend': {
      read: ({ db, mine }) => spendableCredits(db, mine.id),
      index: 'grants_account',
      sorts: true,
    },
  },
  'an operator': {
    'the newest accounts': {
      read: ({ db }) => findAccounts(db, { text: '', sort: 'newest' }, 50),
      index: 'on accounts',
    },
    'an account by its id': {
      read: ({ db, mine }) => findAccounts(db, { text: `acc_${mine.id.replaceAll('-', '')}`, sort: 'newest' }, 50),
      index: 'on accounts',
    },
    // In the order of the index: in the worst case, a text that no address has, it reads every account.
    'accounts by a part of their address, later': {
      read: ({ db }) => findAccounts(db, { text: '-7', sort: 'newest' }, 50, { key: null, id: newId('account') }),
      index: 'on accounts',
    },
    'accounts that owe': {
      read: ({ db }) => findAccounts(db, { text: '', sort: 'debt' }, 50, { key: 9, id: newId('account') }),
      index: 'accounts_in_debt',
      sorts: true,
    },
    'accounts that are suspended': {
      read: ({ db }) => findAccounts(db, { text: '', sort: 'newest', standing: 'suspended' }, 50),
      index: 'accounts_suspended',
    },
    actions: { read: ({ db }) => listActions(db, {}, 50), index: 'operator_actions_pkey' },
    'actions on an account': {
      read: ({ db, mine }) => listActions(db, { accountId: mine.id }, 50),
      index: 'operator_actions_account',
      sorts: true,
    },
    'all calls': { read: ({ db }) => listAnyCalls(db, {}, 50, null), index: 'calls_pkey' },
    'all calls of an upstream, later': {
      read: ({ db }) => listAnyCalls(db, { upstream: 'none', from: day(9), before: day(2) }, 50, place, 100),
      index: 'calls_pkey',
    },
    'all calls that failed': {
      read: ({ db }) => listAnyCalls(db, { status: 'failed', errorType: 'upstream_failed' }, 50, null),
      index: 'calls_of_errors',
    },
    'the calls of an account': {
      read: ({ db, mine }) => listAnyCalls(db, { accountId: mine.id, upstream: 'none' }, 50, place),
      index: 'calls_account_time',
      sorts: true,
    },
    'the calls of the last day': { read: ({ db }) => tallyLastDay(db, 5), index: 'calls_pkey', sorts: true },
    'the hours of upstreams': { read: ({ db }) => upstreamHours(db), index: 'calls_pkey', sorts: true },
    'the openings of circuits': { read: ({ db }) => openingsOfDay(db), index: 'circuit_openings_pkey', sorts: true },
    'the addresses of accounts': {
      read: ({ db, mine }) => addressesOf(db, [mine.id]),
      index: 'members_one_owner',
      sorts: true,
    },
    'upstreams of the last hour': { read: ({ db }) => upstreamsOfLastHour(db), index: 'calls_pkey', sorts: true },
    'mails that were given up': { read: ({ db }) => listMails(db, ['dead'], 50), index: 'mails_dead' },
    mails: {
      read: ({ db }) => listMails(db, ['queued', 'sending', 'sent', 'skipped', 'dead'], 50),
      index: 'mails_pkey',
    },
  },
  'the reconciler': {
    'calls past their lease': { read: ({ db }) => verbs(db).findStale(200), index: 'calls_open', sorts: true },
    'results past their time': { read: ({ db }) => deleteExpiredResults(db, 2000), index: 'call_results_expiry' },
    'idempotency keys past their time': {
      read: ({ db }) => freeIdempotencyKeys(db, 2000),
      index: 'calls_idempotency_expiry',
    },
    'call records past their time': { read: ({ db }) => deleteOldCalls(db, 3650, 2000), index: 'calls_pkey' },
    'grants past their time': { read: ({ db }) => expireGrants(db, 200), index: 'grants_expiry' },
    'mails that are due': { read: ({ db }) => dueMails(db, 30, 200), index: 'mails_due' },
    'mails past their time': { read: ({ db }) => deleteOldMails(db), index: 'mails_finished', sorts: true },
    'sessions past their time': { read: ({ db }) => deleteExpiredSessions(db), index: 'sessions_expiry' },
    'networks past their time': { read: ({ db }) => deleteOldNetworks(db), index: 'login_networks_age' },
    'mails of a mailbox in the last hour': {
      read: ({ db }) => inTrx(db, (trx) => countMail(trx, aCountedMail())),
      index: 'mailbox_mails_mailbox',
      // Of a mailbox's few mails of an hour, perhaps under two secrets.
      sorts: true,
    },
    'counts of mails past their time': { read: ({ db }) => deleteOldCounts(db), index: 'mailbox_mails_old' },
  },
  'the metrics': {
    'the oldest call that waits': { read: ({ db }) => oldestQueued(db), index: 'calls_open', sorts: true },
    'the mails that wait': { read: ({ db }) => mailBacklog(db), index: 'mails_due' },
  },
}
