/**
 * A chat call at its upstreams.
 */
import type { ChatModel, Route } from '../shared/catalogue.ts'
import type { Settlement } from '../shared/calls/types.ts'
import { chatOutput } from '../shared/calls/answers.ts'
import type { ChatUsage } from '../shared/calls/answers.ts'
import type { Tokens } from '../shared/calls/pricing.ts'
import { costOf, countOutput } from '../shared/calls/pricing.ts'
import type { ChatRequest } from '../shared/calls/requests.ts'
import { publicId } from '../shared/ids.ts'
import { step } from '../shared/steps.ts'
import { ChatAssembly, ChunkRelay } from './chat-stream.ts'
import type { WorkerDeps } from './deps.ts'
import { Cancelled } from './held-calls.ts'
import type { Outcome, Run } from './run.ts'
import { sending, upstreamFailure } from './run.ts'
import { checkDestinations } from './references.ts'
import type { ChatAdapter, ChatCompletion, ChatResult, UpstreamUsage } from './upstreams/adapter.ts'
import { UpstreamError } from './upstreams/adapter.ts'

/** A chat whose first attempt may have been sent is sent once more; a third time would only pay again (design section 3). */
const MAX_ATTEMPTS = 2

/** The finish_reason of an answer whose client left while it was streamed (contract section 5.3). */
const CANCELLED = 'cancelled'

/** Runs a chat call to its end. @throws UpstreamError when every try failed. */
export async function runChat(deps: WorkerDeps, model: ChatModel, run: Run): Promise<Outcome> {
  if (run.call.resumed && run.call.attempt > MAX_ATTEMPTS) return upstreamFailure('The call was interrupted too often.')
  const request = run.job.request as ChatRequest
  // The lost attempt may have streamed a part already, which nobody can take back from its reader.
  if (run.call.resumed && request.stream) return upstreamFailure('The worker was lost while it streamed.')
  await checkDestinations(deps.fetcher, request, run.signal)
  const { result, route } = await deps.upstreams.tryRoutes(model, run.signal, async (each, begun) => {
    const adapter = deps.upstreams.adapterOf(each.upstream.protocol).chat
    if (!adapter) throw new UpstreamError('rejected', `${each.upstream.protocol} serves no chat`)
    return sending(run, async () => ({
      route: each,
      result: request.stream ? await stream(deps, adapter, each, run, begun) : await adapter.chat(request, contextOf(each, run)),
    }))
  })
  return { is: 'settled', settlement: settlementOf(model, run, route, result) }
}

const contextOf = (route: Route, { call, job, signal }: Run) =>
  ({ route, signal, callId: publicId('call', call.id), traceparent: job.traceparent })

/** @param begun to be called before the first chunk leaves: a second try would show its reader two answers in one. */
async function stream(deps: WorkerDeps, adapter: ChatAdapter, route: Route, run: Run, begun: () => void): Promise<ChatResult> {
  const { call, job, signal } = run
  const assembly = new ChatAssembly()
  const relay = new ChunkRelay((news) => deps.publisher.news(call.replyTo, call.id, news))
  let usage: UpstreamUsage | null = null
  try {
    for await (const event of adapter.streamChat(job.request as ChatRequest, contextOf(route, run))) {
      if (event.type === 'usage') usage = event.usage
      else {
        begun()
        step('upstream.streaming', call.id)
        assembly.add(event.chunk)
        relay.push(JSON.stringify({ ...event.chunk, model: call.model }))
      }
    }
  } catch (error) {
    if (signal.reason instanceof Cancelled && !assembly.isEmpty) return { completion: assembly.completion(CANCELLED), usage }
    throw error
  } finally {
    if (signal.aborted) relay.drop()
    await relay.flush()
  }
  if (assembly.isEmpty) throw new UpstreamError('unknown', 'the stream had no chunk')
  return { completion: assembly.completion('stop'), usage }
}

function settlementOf(model: ChatModel, { call }: Run, route: Route, { completion, usage }: ChatResult): Settlement {
  const tokens: Tokens = usage ?? { input: call.estimate.input, output: countOutput(completion.choices) }
  return {
    cost: costOf(call.price, tokens), tokens: { input: tokens.input, output: tokens.output }, upstream: route.upstream.name,
    resultUrl: null, output: chatOutput(answered(completion, model.id), { ...usage?.details, ...usageOf(tokens) }),
  }
}

/** The completion in the specification's order, under the gateway's own model id; the upstream's other fields follow. */
function answered({ id, object, created, choices, ...rest }: ChatCompletion, model: string): Record<string, unknown> {
  return { id, object, created, model, choices, ...withoutOwn(rest) }
}

const withoutOwn = ({ model: _model, usage: _usage, ok: _ok, ...rest }: Record<string, unknown>) => rest

const usageOf = ({ input, output }: Tokens): ChatUsage => ({
  input_tokens: input, output_tokens: output, prompt_tokens: input, completion_tokens: output, total_tokens: input + output,
})
