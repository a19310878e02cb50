import { dialectOf } from '../../../src/shared/chat/dialect.ts'
import type { Route } from '../../../src/shared/catalogue/catalogue.ts'
import type { Fields } from '../../../src/shared/platform/fields.ts'
import type { ChatRequest } from '../../../src/shared/requests/requests.ts'
import type { WorkerDeps } from '../../../src/workers/deps.ts'
import { Reasoners } from '../../../src/workers/calls/reasoning.ts'
import type { Run } from '../../../src/workers/calls/run-call.ts'
import { StreamedAnswer } from '../../../src/workers/calls/streamed-answer.ts'
import type { Upstreams } from '../../../src/workers/upstreams/registry.ts'
import { trustedUsage } from '../../../src/workers/upstreams/trusted-usage.ts'
import type { TrustedUsage } from '../../../src/workers/upstreams/trusted-usage.ts'
import { contextOf } from '../upstreams/sandbox-upstreams.ts'

/** How an answer is read: as a stream that is passed on (S), as one that is not (R), or whole (W). */
export type Way = 'S' | 'R' | 'W'

/** What was sent: 40 tokens by our own count, 12,000 at most. */
export const BOUNDS = { estimate: { input: 40, output: 1000 }, mostInput: 12_000 }

/** An answer, what it is settled on, and the frames that its client got. */
export type ReadAnswer = { answer: Fields; frames: string[] } & TrustedUsage

/** Asks an upstream for a chat and reads its answer as a worker does. @throws as that does, where nothing is paid */
export async function readAnswer(
  upstreams: Upstreams,
  route: Route,
  asked: ChatRequest,
  way: Way,
): Promise<ReadAnswer> {
  const adapter = upstreams.adapterOf(route.upstream.protocol).chat!
  const request = { ...asked, stream: way === 'S' }
  const context = { ...contextOf(route), dialect: 'chat' as const }
  const frames: string[] = []
  if (way === 'W') {
    const { answer, usage } = await adapter.chat(request, context)
    const counted = dialectOf('chat').answers.count(answer)
    return { answer, frames, ...trustedUsage(usage, { bounds: BOUNDS, counted }) }
  }
  const push = ({ text }: { text: string }): unknown => frames.push(text)
  const relays = { open: () => ({ push, flush: async () => {}, drop() {}, close() {} }) }
  const deps = { config: { MAX_ANSWER_BYTES: 1e6 }, relays, reasoners: new Reasoners() }
  const run = {
    call: { id: 'c', model: 'chat', replyTo: 'r' },
    job: { request, dialect: 'chat' },
    held: { leave() {}, ending: new AbortController() },
    signal: context.signal,
    bounds: BOUNDS,
  }
  const reading = new StreamedAnswer(deps as unknown as WorkerDeps, run as unknown as Run, route, () => {})
  const paid = await reading.read((onSent, take) => adapter.streamChat(request, { ...context, onSent }, take))
  return { ...paid, frames }
}
