import { Agent, request } from 'undici'
import type { TestAccount } from '../../../../scripts/harness/factories.ts'
import { PATIENCE_MS, until } from '../../../../scripts/harness/until.ts'
import type { Sending } from './random-requests.ts'

const AT_ONCE = 40

/** An answer; `retryAfter` is its Retry-After, `json` what it is if it is an object. */
export type Answered = {
  status: number
  retryAfter: string | undefined
  text: string
  json: { error?: { type: string } } | null
}

/** How answers are judged. `about`: what a failure says of its request. */
export type Judge = {
  seed: number
  /**
   * Whether a request was refused because Postgres or Redis took too long, as they may on a busy machine: its client is
   * charged nothing and told to send it again, and does.
   */
  isPutOff: (answered: Answered) => boolean
  check: (answered: Answered, about: string) => void
}

/** Sends requests, many at once, and checks each answer. @returns how often each status was answered */
export async function sendAll(
  url: string,
  { key }: Pick<TestAccount, 'key'>,
  sendings: readonly Sending[],
  { seed, isPutOff, check }: Judge,
): Promise<Map<number, number>> {
  const agent = new Agent({ connections: AT_ONCE, headersTimeout: PATIENCE_MS, bodyTimeout: PATIENCE_MS })
  const statuses = new Map<number, number>()

  async function sendOne({ method, path, headers, body: bytes }: Sending): Promise<void> {
    const content = bytes?.toString('latin1').slice(0, 500)
    const about = `seed ${seed}: ${method} ${path} ${JSON.stringify(headers)} ${content}`
    const ask = async (): Promise<Answered> => {
      const answer = await request(`${url}${path}`, {
        dispatcher: agent,
        method: method as 'POST',
        body: bytes,
        headers: { authorization: `Bearer ${key}`, ...(bytes && { 'content-type': 'application/json' }), ...headers },
      }).catch((error: Error) => {
        throw new Error(`${error.message}: ${about}`)
      })
      const text = await answer.body.text()
      const json = (text.startsWith('{') ? JSON.parse(text) : null) as Answered['json']
      return { status: answer.statusCode, retryAfter: answer.headers['retry-after']?.toString(), text, json }
    }
    const answered = await until(`an answer to ${about}`, async () => {
      const one = await ask()
      return !isPutOff(one) && one
    })
    statuses.set(answered.status, (statuses.get(answered.status) ?? 0) + 1)
    check(answered, about)
  }

  const rest = [...sendings]
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let next = rest.pop(); next; next = rest.pop()) await sendOne(next)
    }),
  )
  await agent.close()
  return statuses
}

/** Collects what nobody catches in this process. */
export class UncaughtFaults {
  readonly seen: unknown[] = []
  private readonly note = (fault: unknown): void => void this.seen.push(fault)

  start(): void {
    process.on('unhandledRejection', this.note)
    process.on('uncaughtExceptionMonitor', this.note)
  }

  stop(): void {
    process.off('unhandledRejection', this.note)
    process.off('uncaughtExceptionMonitor', this.note)
  }
}
