import { expect } from 'chai'
import type { Sandbox } from '../../sandbox/server.ts'
import type { Arena } from '../support/crash.ts'
import { untilEnded } from '../support/crash.ts'
import { expectBooksToBalance } from '../support/books.ts'
import { anAccount, balanceOf } from '../../scripts/harness/factories.ts'
import { post } from '../../scripts/harness/http.ts'
import { eventually } from '../../scripts/harness/until.ts'
import type { Cut } from '../support/proxy.ts'
import { chat, image, video } from './clients.ts'
import type { Asked } from './clients.ts'

/** A kind of request, what it costs, and how often its upstream may get it. */
export type Kind = { name: string; ask: (prompt: string) => Asked; credits: number; mayBeSent: number }

const chats = (stream: boolean) => (prompt: string) => chat(`${prompt} [usage 900 700] [chunks 2 1]`, { stream })

export const KINDS: readonly Kind[] = [
  { name: 'chat', ask: chats(false), credits: 3, mayBeSent: 2 },
  { name: 'stream', ask: chats(true), credits: 3, mayBeSent: 1 },
  { name: 'image', ask: (prompt) => image(prompt), credits: 40, mayBeSent: 1 },
  { name: 'video', ask: (prompt) => video(`${prompt} [duration 0.3]`), credits: 250, mayBeSent: 1 },
]

/** The process whose connection is cut. */
type Line = { side: 'web' | 'worker'; store: 'postgres' | 'redis' }

const LINES: readonly Line[] = [
  { side: 'web', store: 'postgres' },
  { side: 'worker', store: 'postgres' },
  { side: 'web', store: 'redis' },
  { side: 'worker', store: 'redis' },
]

/** One cut in the life of one call. */
export type Case = { kind: Kind; line: Line; cut: Cut }

const nameOf = ({ kind, line, cut }: Case): string =>
  `${kind.name}: ${line.side}'s ${line.store}, ${cut.side} ${cut.label} #${cut.nth}`

/** The outcome of a case. `ms`: from the request to the end of its call. */
export type Outcome = { status: number; ms: number; wasCut: boolean }

const START_CREDITS = 5000
const MAX_OCCURRENCES = 2
let prompts = 0

/** The cases that cut before and after every statement of an undisturbed call of this kind. */
export async function casesOf(arena: Arena, kind: Kind): Promise<Case[]> {
  // A connection that an earlier case has cut may be on its way back.
  await eventually(async () => {
    for (const { side, store } of LINES) arena.proxies[side][store].watch()
    const { reply } = await request(arena, kind, `watched ${++prompts}`)
    // Otherwise there would be no call to cut.
    expect(reply.status, reply.text).to.equal(200)
  })
  return LINES.flatMap((line) => {
    const counts = new Map<string, number>()
    return arena.proxies[line.side][line.store].seen.flatMap((label): Case[] => {
      const nth = (counts.get(label) ?? 0) + 1
      counts.set(label, nth)
      return nth > MAX_OCCURRENCES
        ? []
        : [
            { kind, line, cut: { label, nth, side: 'before' } },
            { kind, line, cut: { label, nth, side: 'after' } },
          ]
    })
  })
}

async function request(arena: Arena, kind: Kind, prompt: string) {
  const account = await anAccount(arena.db, START_CREDITS)
  const startedAt = performance.now()
  const { path, body } = kind.ask(prompt)
  const reply = await post(`${arena.url}/v1/${path}`, account.key, body)
  const calls = await untilEnded(arena.db, account.id)
  return { account, reply, calls, ms: performance.now() - startedAt }
}

/**
 * What such a call may be answered with. A worker that Redis gives a job, and that never hears of it, may have asked
 * the upstream for all that the next one knows: a stream is not asked for twice, but refunded
 * (docs/architecture.md#begin).
 */
const statusesOf = ({ kind, line }: Case): number[] =>
  kind.name === 'stream' && line.side === 'worker' && line.store === 'redis' ? [200, 502, 503] : [200, 503]

/** Cuts one connection at one statement, and checks every promise. */
async function play(arena: Arena, sandbox: Sandbox, one: Case): Promise<Outcome> {
  const { kind, line, cut } = one
  const proxy = arena.proxies[line.side][line.store]
  const prompt = `cut ${++prompts}.`
  proxy.watch(cut)
  const { account, reply, calls, ms } = await request(arena, kind, prompt)
  const wasCut = proxy.hasCut
  proxy.watch()
  const about = `${nameOf(one)}: ${reply.status} ${reply.text.slice(0, 200)}`
  expect(reply.status, about).to.be.oneOf(statusesOf(one))
  // A stream that lost a chunk says so in its last line, with the address of the whole answer.
  const failed = reply.status !== 200 || /"ok":false/.test(reply.text)
  if (reply.status === 503) expect(reply.json?.error.type, about).to.equal('service_unavailable')
  expect(calls.length, `${about}: one request is one call`).to.be.at.most(1)
  const [call] = calls
  const succeeded = call?.status === 'succeeded'
  if (!failed) expect(succeeded, `${about}: what was answered 200 has succeeded`).to.equal(true)
  expect(await balanceOf(arena.db, account.id), `${about}: balance`).to.equal(
    START_CREDITS - (succeeded ? kind.credits : 0),
  )
  const billed = sandbox.billed(prompt).total
  expect(billed, `${about}: billed by the upstream`).to.be.within(succeeded ? 1 : 0, kind.mayBeSent)
  return { status: reply.status, ms, wasCut }
}

/** Runs all cases, as many at a time as there are arenas, and checks the books. Returns the outcomes. */
export async function playAll(
  arenas: readonly Arena[],
  sandbox: Sandbox,
  cases: readonly Case[],
): Promise<{ one: Case; outcome: Outcome }[]> {
  const waiting = [...cases]
  const played: { one: Case; outcome: Outcome }[] = []
  await Promise.all(
    arenas.map(async (arena) => {
      for (let one = waiting.shift(); one; one = waiting.shift())
        played.push({ one, outcome: await play(arena, sandbox, one) })
      await eventually(() => expectBooksToBalance(arena.db))
    }),
  )
  return played
}

/** The figures of many cases, in one line. */
export function figures(played: readonly { outcome: Outcome }[]): string {
  const times = played.map(({ outcome }) => outcome.ms).toSorted((a, b) => a - b)
  const cut = played.filter(({ outcome }) => outcome.wasCut).length
  const refused = played.filter(({ outcome }) => outcome.status === 503).length
  const [median, longest] = [times[times.length >> 1], times.at(-1)].map((ms) => Math.round(ms ?? 0))
  return (
    `${played.length} cases, ${cut} connections cut, ${refused} answered 503, ` +
    `ended after ${median} ms (median), ${longest} ms (longest)`
  )
}
