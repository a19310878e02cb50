/**
 * From where a request is sent.
 */
import type { ParameterizedContext } from 'koa'
import type { Device } from '../../shared/identity/sessions.ts'
import { clientAddress } from './client-address.ts'
import type { RequestState } from './request-context.ts'

const USER_AGENT_LENGTH = 200

/** What a session remembers of its client. */
export function deviceOf(ctx: ParameterizedContext<RequestState>, trustedHops: number): Device {
  const userAgent = Array.from(ctx.get('user-agent').replace(/\p{Cc}/gu, ''))
    .slice(0, USER_AGENT_LENGTH)
    .join('')
  return { userAgent, ip: clientAddress(ctx.req, trustedHops) }
}
