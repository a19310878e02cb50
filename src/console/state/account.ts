/**
 * The account that is signed in, and its changes as they happen: one stream a browser, which reconnects by itself.
 */
import { effect, signal } from '@preact/signals'
import type { AccountState, CallRecord, User } from '../api/endpoints.ts'
import { getAccount } from '../api/endpoints.ts'
import { readEvents } from '../api/event-reader.ts'
import { adoptLanguage } from '../language/language.ts'
import { belongsTo } from './acting-for.ts'
import { endSession, hasEnded, signedInAs, token } from './session.ts'
import type { Notice } from './shared-stream.ts'
import { followTogether } from './shared-stream.ts'

/** Pauses before a broken stream is opened again, in ms; the last one repeats. */
const PAUSES_MS = [500, 1000, 2000, 5000, 10_000]

export const account = signal<(AccountState & { user: User }) | null>(null)

/** Whether changes arrive at this moment. */
export const live = signal(false)

/** Whether they have arrived before, and have not for longer than a stream takes to reconnect. */
export const reconnecting = signal(false)

/** The last state that came as an event, and how many have come. */
let latest: AccountState | null = null
let events = 0

/** How often the account was asked for, and which of these was answered last. */
let asked = 0
let answered = 0

type CallListener = (call: CallRecord) => void
const callListeners = new Set<CallListener>()
const refreshListeners = new Set<() => void>()

/** Calls a listener with every call that changes. @returns a function that stops it. */
export function onCall(listener: CallListener): () => void {
  callListeners.add(listener)
  return () => void callListeners.delete(listener)
}

/** Calls a listener when changes may have been missed. @returns a function that stops it. */
export function onRefresh(listener: () => void): () => void {
  refreshListeners.add(listener)
  return () => void refreshListeners.delete(listener)
}

/**
 * Asks for the account again; a failure changes nothing that is shown, and the next event corrects it. An answer
 * replaces neither what was asked for later nor an event that came meanwhile: it may have been read before that.
 */
export async function loadAccount(): Promise<void> {
  const [mine, seen, nth] = [token.value, events, ++asked]
  const answer = await getAccount().catch(() => null)
  if (!answer || mine !== token.value || nth < answered || !belongsTo(actedFor(answer))) return
  answered = nth
  // Only as the session begins: what has been typed since is not lost to a change on another device.
  if (account.value === null) adoptLanguage(answer.user.language)
  signedInAs.value = answer.user.email
  account.value = seen === events ? answer : { ...answer, ...latest }
}

/** The id of the account that is acted for. */
const actedFor = ({ organisation, user }: AccountState & { user: User }): string => organisation?.id ?? user.id

/** Whether an account is one's own, or the one that is acted for. */
export const isOwnAccount = (id: string): boolean =>
  account.value !== null && [account.value.user.id, actedFor(account.value)].includes(id)

/** Whether the pages of owner and admins are for the user who is signed in; also while that is not known yet. */
export const mayManage = (): boolean => account.value?.organisation?.role !== 'member'

/** Shows a changed profile at once. */
export function showUser(user: User): void {
  signedInAs.value = user.email
  if (account.value) account.value = { ...account.value, user }
}

effect(() => {
  const mine = token.value
  if (mine === null) account.value = null
  if (mine === null || hasEnded.value) return undefined
  const over = new AbortController()
  loadAccount().catch(reportError)
  followTogether(mine, over.signal, (until, notify, again) => read(mine, until, notify, again), takeNotice).catch(
    (error: unknown) => {
      // The wait for the lock ends so where the session is over.
      if (!over.signal.aborted) reportError(error)
    },
  )
  return () => {
    over.abort()
    live.value = false
    reconnecting.value = false
  }
})

/** Reads the stream, opening it again whenever it breaks. `again`: what came before may have been missed. */
async function read(
  session: string,
  over: AbortSignal,
  notify: (notice: Notice) => void,
  again: boolean,
): Promise<void> {
  for (let tries = 0; !over.aborted; tries++) {
    const began = performance.now()
    await listen(session, over, notify, again || tries > 0).catch(() => {})
    if (over.aborted) return
    const lasted = performance.now() - began > PAUSES_MS.at(-1)!
    // A stream that ended is opened again at once; one that cannot be opened is shown.
    notify({ state: { live: false, reconnecting: tries > 0 && !lasted } })
    if (lasted) tries = 0
    await pause(PAUSES_MS[Math.min(tries, PAUSES_MS.length - 1)]!, over)
  }
}

async function listen(
  session: string,
  over: AbortSignal,
  notify: (notice: Notice) => void,
  again: boolean,
): Promise<void> {
  const response = await fetch('/api/events', {
    headers: { authorization: `Bearer ${session}` },
    cache: 'no-store',
    credentials: 'omit',
    signal: over,
  })
  if (response.status === 401) notify({ event: { event: 'signed_out', data: '' } })
  if (!response.ok || !response.body) return
  notify({ state: { live: true, reconnecting: false } })
  if (again) notify({ event: { event: 'refresh', data: '' } })
  for await (const event of readEvents(response.body)) notify({ event })
}

function takeNotice(notice: Notice): void {
  if ('event' in notice) return take(notice.event.event, notice.event.data)
  live.value = notice.state.live
  reconnecting.value = notice.state.reconnecting
}

function take(event: string, data: string): void {
  if (event === 'call') for (const listener of callListeners) listener(JSON.parse(data) as CallRecord)
  if (event === 'account') {
    latest = JSON.parse(data) as AccountState
    events += 1
    if (account.value) account.value = { ...account.value, ...latest }
  }
  if (event === 'refresh') refresh()
  if (event === 'signed_out') endSession()
}

function refresh(): void {
  void loadAccount()
  for (const listener of refreshListeners) listener()
}

const pause = (ms: number, over: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    over.addEventListener(
      'abort',
      () => {
        clearTimeout(timer)
        resolve()
      },
      { once: true },
    )
  })
