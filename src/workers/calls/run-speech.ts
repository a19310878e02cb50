/**
 * A call for speech at its upstreams. Its sound goes to who waits for it as it comes, and is not stored: from its first
 * byte on the call is paid in full, and nothing is tried a second time.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Route, SpeechModel } from '../../shared/catalogue/catalogue.ts'
import { failpoint } from '../../shared/platform/process/failpoints.ts'
import type { SpeechRequest } from '../../shared/requests/speech.ts'
import { SOUND_ENDS, chargedCharacters } from '../../shared/requests/speech.ts'
import type { WorkerDeps } from '../deps.ts'
import type { ChunkRelay } from './chunk-relay.ts'
import { speechMicroUsd } from './costs.ts'
import type { Outcome, Run } from './run-call.ts'
import { aboutRun, callerOf, contextOf, sendTo, settlementOf, upstreamFailure } from './run-call.ts'

/** How long the last sound of a call that was cut may take to leave, in ms. */
const FLUSH_MS = 1000

/** Runs a call for speech to its end. @throws UpstreamError when every try failed before the first byte */
export async function runSpeech(deps: WorkerDeps, model: SpeechModel, run: Run): Promise<Outcome> {
  // What it delivered, its web process has settled; a second request could be a second bill.
  if (run.call.resumed) return upstreamFailure('The worker was lost while the upstream may have had the request.')
  const request = run.job.request as SpeechRequest
  const relay = deps.relays.open(run.call.replyTo, run.call.id)
  const passed = new PassedSound(relay, run)
  try {
    const route = await deps.upstreams.tryRoutes(model, callerOf(run), (route, begun) =>
      speak(deps, run, route, (sound) => passed.pass(sound, begun)),
    )
    relay.push({ text: SOUND_ENDS })
    await relay.flush()
    run.spent.add(speechMicroUsd(route, chargedCharacters(request)))
  } catch (error) {
    if (!passed.hasBegun) throw error
    deps.log.warn({ ...aboutRun(run), err: error }, 'speech broken off')
    await Promise.race([relay.flush(), sleep(FLUSH_MS)])
  } finally {
    relay.close()
  }
  return { is: 'settled', settlement: settlementOf(run) }
}

async function speak(
  deps: WorkerDeps,
  run: Run,
  route: Route,
  take: (sound: Uint8Array) => Promise<void>,
): Promise<Route> {
  const ask = deps.upstreams.adapterFor(route, 'speech')
  await sendTo(run, route, () => ask(run.job.request as SpeechRequest, contextOf(route, run), take))
  return route
}

/** The sound that has been passed on. */
class PassedSound {
  hasBegun = false
  private readonly relay: ChunkRelay
  private readonly run: Run

  constructor(relay: ChunkRelay, run: Run) {
    this.relay = relay
    this.run = run
  }

  /** Passes a piece on, and waits until it was sent. @param begun is called at the first */
  async pass(sound: Uint8Array, begun: () => void): Promise<void> {
    failpoint('upstream.streaming', this.run.call.id)
    if (!this.hasBegun) begun()
    this.hasBegun = true
    this.relay.push({ text: Buffer.from(sound).toString('base64') })
    await this.relay.flush()
  }
}
