/**
 * Every endpoint: the map to open first. What each of them takes, checks and answers stands in its own file.
 */
import { activateAccount, giveCredits, searchAccounts, showOperated, suspendAccount } from './operator/accounts.ts'
import { retryMail, showActions, showAnyCall, showDeadMails, showUpstreams } from './operator/reports.ts'

/** `/api/operator`: for accounts whose role is `admin`. */
const operators = [
  searchAccounts, showOperated, giveCredits, suspendAccount, activateAccount,
  showAnyCall, showDeadMails, retryMail, showUpstreams, showActions,
] as const

/** All of them. */
export const endpoints = [...operators] as const
