/**
 * Every endpoint: the map to open first. What each of them takes, checks and answers stands in its own file.
 */
import { showModels, showState } from './console/account.ts'
import { changeAccount, createAccount, login, logout, replacePassword, showAccount } from './console/auth.ts'
import { showCall, showCalls } from './console/calls.ts'
import { forgot, resend, reset, verify } from './console/email.ts'
import { accountEvents } from './console/events.ts'
import { showGrants } from './console/grants.ts'
import { endKey, makeKey, showKeys } from './console/keys.ts'
import { showLedger } from './console/ledger.ts'
import { sendTestMail, showMail } from './console/mail.ts'
import { revokeSession, showSessions } from './console/sessions.ts'
import { showUsage } from './console/usage.ts'
import { activateAccount, giveCredits, searchAccounts, showOperated, suspendAccount } from './operator/accounts.ts'
import { retryMail, showActions, showAnyCall, showDeadMails, showUpstreams } from './operator/reports.ts'

/** `/api`: who has an account, and how they sign in. */
const accounts = [
  createAccount,
  login,
  logout,
  showAccount,
  changeAccount,
  replacePassword,
  showSessions,
  revokeSession,
  verify,
  resend,
  forgot,
  reset,
  showMail,
  sendTestMail,
] as const

/** `/api`: the keys of an account, and what was called, used and paid. */
const records = [
  makeKey,
  showKeys,
  endKey,
  showState,
  showModels,
  accountEvents,
  showCalls,
  showCall,
  showLedger,
  showGrants,
  showUsage,
] as const

/** `/api/operator`: for accounts whose role is `admin`. */
const operators = [
  searchAccounts,
  showOperated,
  giveCredits,
  suspendAccount,
  activateAccount,
  showAnyCall,
  showDeadMails,
  retryMail,
  showUpstreams,
  showActions,
] as const

/** All of them. */
export const endpoints = [...accounts, ...records, ...operators] as const
