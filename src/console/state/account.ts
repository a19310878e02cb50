/**
 * The account that is signed in, and its changes as they happen: one stream a page, which comes back by itself.
 */
import { effect, signal } from '@preact/signals'
import type { AccountState, CallRecord, User } from '../api/endpoints.ts'
import { getAccount } from '../api/endpoints.ts'
import { readEvents } from '../api/event-reader.ts'
import { forgetToken, token } from './session.ts'

/** Pauses before a broken stream is opened again, in ms; the last one repeats. */
const PAUSES_MS = [500, 1000, 2000, 5000, 10_000]

export const account = signal<(AccountState & { user: User }) | null>(null)

/** Whether changes arrive at this moment. */
export const live = signal(false)

/** Whether they have arrived before, and do not for longer than a stream takes to come back. */
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
 * Asks for the account again; a failure leaves what is shown, and the next event mends it. An answer replaces neither
 * what was asked for later nor an event that came meanwhile: it may have been read before that.
 */
export async function loadAccount(): Promise<void> {
  const [mine, seen, nth] = [token.value, events, ++asked]
  const answer = await getAccount().catch(() => null)
  if (!answer || mine !== token.value || nth < answered) return
  answered = nth
  account.value = seen === events ? answer : { ...answer, ...latest }
}

/** Shows a changed profile at once. */
export function showUser(user: User): void {
  if (account.value) account.value = { ...account.value, user }
}

effect(() => {
  const mine = token.value
  if (mine === null) {
    account.value = null
    return undefined
  }
  const over = new AbortController()
  void loadAccount()
  void follow(mine, over.signal)
  return () => over.abort()
})

async function follow(session: string, over: AbortSignal): Promise<void> {
  for (let tries = 0; !over.aborted; tries++) {
    const began = performance.now()
    await listen(session, over, tries > 0).catch(() => {})
    live.value = false
    if (over.aborted) return
    // A stream that ended is opened again at once; one that cannot be opened is worth a word.
    if (tries > 0 && performance.now() - began < PAUSES_MS.at(-1)!) reconnecting.value = true
    if (performance.now() - began > PAUSES_MS.at(-1)!) tries = 0
    await pause(PAUSES_MS[Math.min(tries, PAUSES_MS.length - 1)]!, over)
  }
}

async function listen(session: string, over: AbortSignal, again: boolean): Promise<void> {
  const response = await fetch('/api/events', {
    headers: { authorization: `Bearer ${session}` },
    cache: 'no-store',
    credentials: 'omit',
    signal: over,
  })
  if (response.status === 401 && !over.aborted) forgetToken('Your session has ended. Sign in again to continue.')
  if (!response.ok || !response.body) return
  live.value = true
  reconnecting.value = false
  if (again) refresh()
  for await (const { event, data } of readEvents(response.body)) take(event, data)
}

function take(event: string, data: string): void {
  if (event === 'call') for (const listener of callListeners) listener(JSON.parse(data) as CallRecord)
  if (event === 'account') {
    latest = JSON.parse(data) as AccountState
    events += 1
    if (account.value) account.value = { ...account.value, ...latest }
  }
  if (event === 'refresh') refresh()
  if (event === 'signed_out') forgetToken('Your session has ended. Sign in again to continue.')
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
