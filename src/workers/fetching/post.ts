/**
 * A request to an address that a customer chose: one, with no redirect followed, and nothing read of the answer but
 * its head.
 */
import type { Agent } from 'undici'
import { request } from 'undici'
import { namesPublicHost } from '../../shared/requests/addresses.ts'
import { mayReceive } from '../../shared/webhooks/addresses.ts'
import { notPublic } from './connections.ts'
import { startDeadline, unlessAborted } from './deadline.ts'
import { parseUrl } from './download.ts'
import { toFetchFailed } from './failure.ts'

/** What is sent. `allowPrivate`: to wherever the address leads, for development. */
export type Posted = {
  headers: Record<string, string>
  body: string
  limitMs: number
  allowPrivate: boolean
  signal: AbortSignal
}

/** What was answered: taken (2xx), never to be asked again (410), or neither. `retryAfter` as it came. */
export type PostAnswer = { status: number; isTaken: boolean; isGone: boolean; retryAfter: string | null }

/**
 * Sends it over an agent that is made for it alone, and closed with it: the name is looked up once, and the connection
 * goes to what was checked.
 * @throws FetchFailed where nothing was answered in time; the signal's reason once that has aborted
 */
export async function post(
  agentFor: (signal: AbortSignal) => Agent,
  text: string,
  posted: Posted,
): Promise<PostAnswer> {
  const url = parseUrl(text)
  if (!posted.allowPrivate && !(namesPublicHost(url) && mayReceive(url))) throw notPublic()
  const deadline = startDeadline(posted.signal, posted.limitMs)
  const { signal } = deadline
  const agent = agentFor(signal)
  const asked = {
    dispatcher: agent,
    method: 'POST',
    headers: { 'content-type': 'application/json', 'user-agent': 'tollgate', ...posted.headers },
    body: posted.body,
    signal,
  } as const
  try {
    const answer = await unlessAborted(() => request(url, asked), signal)
    answer.body.on('error', () => {}).destroy()
    const retryAfter = answer.headers['retry-after']
    const { statusCode: status } = answer
    return {
      status,
      isTaken: status >= 200 && status < 300,
      isGone: status === 410,
      retryAfter: (Array.isArray(retryAfter) ? retryAfter[0] : retryAfter) ?? null,
    }
  } catch (error) {
    throw posted.signal.aborted ? posted.signal.reason : toFetchFailed(signal.aborted ? signal.reason : error)
  } finally {
    deadline.release()
    await agent.destroy()
  }
}
