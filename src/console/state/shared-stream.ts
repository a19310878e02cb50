/**
 * One stream of events for all tabs of a browser that have the same session: over HTTP/1.1 a browser opens six
 * connections to a host, and a stream would hold one of them for each tab. The tab that holds a Web Lock reads the
 * stream and hands each event on over a BroadcastChannel; when it goes, the lock and the stream are another tab's.
 * Where a browser has no locks (pages that are neither https nor localhost), each tab has a stream while it is shown.
 */
import type { ServerEvent } from '../api/event-reader.ts'

/** What the tab with the stream sends to the others, and itself: events, and how the stream is doing. */
export type Notice = { event: ServerEvent } | { state: StreamState }

/** Whether events arrive now; whether they have before, and have not for longer than a stream takes to reconnect. */
export type StreamState = { live: boolean; reconnecting: boolean }

/** A new tab asks for the state of the stream. */
type Message = Notice | 'ask'

/**
 * Follows a session together with the other tabs, until `over`.
 * @param read reads the stream until `over`, telling what comes. `again`: another tab read it before
 * @param take receives events and states in this tab, whichever tab reads the stream
 */
export async function followTogether(
  session: string,
  over: AbortSignal,
  read: (over: AbortSignal, notify: (notice: Notice) => void, again: boolean) => Promise<void>,
  take: (notice: Notice) => void,
): Promise<void> {
  if (!('locks' in navigator)) return readWhileShown(over, (shown, again) => read(shown, take, again))
  const name = `tollgate.events.${session}`
  const channel = new BroadcastChannel(name)
  const post = (message: Message): void => channel.postMessage(message)
  over.addEventListener('abort', () => channel.close(), { once: true })
  let hasOthers = false
  channel.addEventListener('message', ({ data }: MessageEvent<Message>) => {
    if (over.aborted || data === 'ask') return
    hasOthers = true
    take(data)
  })
  post('ask')
  await navigator.locks.request(name, { signal: over }, async () => {
    let state: StreamState = { live: false, reconnecting: false }
    channel.addEventListener('message', ({ data }: MessageEvent<Message>) => {
      if (data === 'ask' && !over.aborted) post({ state })
    })
    const notify = (notice: Notice): void => {
      if (over.aborted) return
      if ('state' in notice) ({ state } = notice)
      take(notice)
      post(notice)
    }
    await read(over, notify, hasOthers)
  })
}

/** Reads while the tab is shown, and again whenever it is shown anew. */
async function readWhileShown(
  over: AbortSignal,
  read: (shown: AbortSignal, again: boolean) => Promise<void>,
): Promise<void> {
  for (let times = 0; !over.aborted; times++) {
    await changeOfSight(over, 'visible')
    const hidden = new AbortController()
    changeOfSight(over, 'hidden').then(
      () => hidden.abort(),
      () => {},
    )
    await read(AbortSignal.any([over, hidden.signal]), times > 0)
  }
}

/** Waits until the tab is shown, or hidden, or it is over. */
function changeOfSight(over: AbortSignal, state: DocumentVisibilityState): Promise<void> {
  return new Promise((resolve) => {
    const done = new AbortController()
    const look = (): void => {
      if (document.visibilityState !== state && !over.aborted) return
      done.abort()
      resolve()
    }
    document.addEventListener('visibilitychange', look, { signal: done.signal })
    over.addEventListener('abort', look, { signal: done.signal })
    look()
  })
}
