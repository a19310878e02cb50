import { expect } from 'chai'
import type { MediaRequest } from '../../../src/shared/requests/requests.ts'
import type { Protocol } from '../../../src/shared/catalogue/catalogue.ts'
import type { UpstreamRef } from '../../../src/shared/calls/types.ts'
import type {
  FailureKind,
  TaskMediaAdapter,
  TaskState,
  UpstreamContext,
} from '../../../src/workers/upstreams/adapter.ts'
import { pauseAfter } from '../../../src/workers/upstreams/tasks/engine.ts'
import { contextOf, failureOf, HASTY, promptOf, routeTo, startWorld, useWorld, uploading } from './sandbox-upstreams.ts'
import { PIXEL_URI } from '../../support/pixel.ts'
import { until } from '../../../scripts/harness/until.ts'
import { serve } from '../fetching/servers.ts'
import type { RouteChanges } from './sandbox-upstreams.ts'

type Kind = [protocol: Protocol, modality: 'image' | 'video', model: string]

const KINDS: Kind[] = [
  ['openai', 'video', 'video-1'],
  ['fal', 'image', 'fal-ai/flux/dev'],
  ['fal', 'video', 'fal-ai/kling/v3/text-to-video'],
  ['replicate', 'image', 'some/painter'],
  ['replicate', 'video', 'some/video-maker'],
  ['openrouter', 'video', 'some/veo'],
]

/** The outcome of the submission with a steering word. Of each status: failures.test.ts. */
const REFUSED: [words: string, kind: FailureKind][] = [
  ['[status 400]', 'rejected'],
  ['[quota]', 'not_served'],
  ['[status 503]', 'overloaded'],
  ['[reset]', 'unknown'],
  ['[garbage]', 'unknown'],
  ['[truncated]', 'unknown'],
]

/** A reference as it is read from the database. */
const stored = (ref: UpstreamRef): UpstreamRef => JSON.parse(JSON.stringify(ref)) as UpstreamRef

/** Polls without the advised pauses until the task has ended. */
async function endOf(
  adapter: TaskMediaAdapter,
  ref: UpstreamRef,
  context: UpstreamContext,
): Promise<Exclude<TaskState, { state: 'running' }>> {
  return await until('the end of the task', async () => {
    const task = await adapter.check(stored(ref), context)
    return task.state !== 'running' && task
  })
}

for (const [protocol, modality, model] of KINDS) {
  describe(`${modality} tasks over ${protocol}`, () => {
    const world = useWorld()
    let tasks: TaskMediaAdapter
    let context: UpstreamContext
    before(() => {
      tasks = world.upstreams.adapterOf(protocol)[modality] as TaskMediaAdapter
      context = world.context(protocol, { model })
    })

    const run = async (words: string) => endOf(tasks, await tasks.submit({ prompt: promptOf(words) }, context), context)

    it('are submitted, polled by any worker, billed once, and end with an address of the result', async () => {
      const prompt = promptOf('a tide')
      const ref = await tasks.submit({ prompt, image_url: PIXEL_URI, duration: 5, resolution: '720p' }, context)
      expect(JSON.stringify(ref), 'no key in its reference').to.not.contain('made-up')
      const task = await endOf(tasks, ref, context)
      expect(task).to.deep.nested.include({ state: 'succeeded', 'made.files[0].from': 'url' })
      expect(world.sandbox.billed(prompt).total).to.equal(1)
    })

    for (const [words, kind] of REFUSED) {
      it(`fail as ${kind} when the submission ends by ${words}`, async () => {
        expect(await failureOf(tasks.submit({ prompt: promptOf(words) }, context))).to.include({ kind })
      })
    }

    it('run while the upstream reports an unknown state', async () => {
      const ref = await tasks.submit({ prompt: promptOf('[weird-status] [stuck] [duration 0.001]') }, context)
      expect(await tasks.check(ref, context)).to.include({ state: 'running' })
      expect(await run('[weird-status]')).to.include({ state: 'succeeded' })
    })

    for (const words of ['[fail]', '[abort]', '[empty]']) {
      if (words === '[empty]' && protocol === 'openai') continue // Its result is at a fixed address, empty or not.
      it(`have failed when they end by ${words}`, async () => {
        const task = await run(words)
        expect(task).to.include({ state: 'failed' })
        expect(task.state === 'failed' && task.error.message).to.be.a('string').that.is.not.empty
      })
    }

    it('can be unknown for a moment, but not for long', async () => {
      expect(await run('[not-found-first]')).to.include({ state: 'succeeded' })
      const ref = await tasks.submit({ prompt: promptOf('[poll-errors 9 404]') }, context)
      const old = { ...ref, submittedAt: Date.now() - 60_000 }
      expect(await tasks.check(ref, context)).to.include({ state: 'running' })
      expect(await failureOf(tasks.check(old, context))).to.deep.include({ kind: 'not_served', status: 404 })
    })

    it('survive failed polls', async () => {
      const kinds = await Promise.all(
        [
          [500, 'unknown'],
          [503, 'overloaded'],
          [429, 'rate_limited'],
        ].map(async ([status, kind]) => {
          const ref = await tasks.submit({ prompt: promptOf(`[poll-errors 1 ${status}]`) }, context)
          expect(await failureOf(tasks.check(ref, context))).to.include({ kind })
          return (await endOf(tasks, ref, context)).state
        }),
      )
      expect(kinds).to.deep.equal(['succeeded', 'succeeded', 'succeeded'])
    })

    it('can be cancelled, and a failure of that is ignored', async () => {
      const prompt = promptOf('[stuck]')
      const ref = await tasks.submit({ prompt }, context)
      await tasks.cancel(ref, context)
      if (protocol !== 'openrouter') expect(world.sandbox.billed(prompt).entries[0]!.outcome).to.equal('cancelled')
      await tasks.cancel(ref, context)
      await tasks.cancel(ref, { ...context, route: routeTo(protocol, 'http://127.0.0.1:1') })
    })

    it('refuse a foreign reference', async () => {
      expect(await failureOf(tasks.check({ some: 'thing' }, context))).to.include({ kind: 'rejected' })
    })
  })
}

describe('a submission that is never answered', () => {
  it('times out, whether it was accepted or not', async () => {
    const hasty = await startWorld({ timeouts: HASTY })
    const silent = KINDS.flatMap(([protocol, modality, model]) =>
      ['[hang]', '[hang-body]'].map((words) => {
        const adapter = hasty.upstreams.adapterOf(protocol)[modality] as TaskMediaAdapter
        return failureOf(adapter.submit({ prompt: promptOf(words) }, hasty.context(protocol, { model })))
      }),
    )
    for (const failure of await Promise.all(silent)) expect(failure).to.include({ kind: 'unknown' })
    await hasty.close()
  })
})

describe('the pace of polls', () => {
  it('starts fast, and slows down with the age of the task to 15 s', () => {
    expect([0, 1000, 10_000, 60_000, 3_600_000].map((age) => pauseAfter(age, 0.5))).to.deep.equal([
      500, 500, 5000, 15_000, 15_000,
    ])
  })
})

describe('what is submitted', () => {
  const world = useWorld()

  const sent = async (
    [protocol, modality, model]: Kind,
    request: Partial<MediaRequest>,
    changes: RouteChanges = {},
  ) => {
    const prompt = promptOf('sent')
    const tasks = world.upstreams.adapterOf(protocol)[modality] as TaskMediaAdapter
    const context = uploading(world.context(protocol, { model, ...changes }), tasks, request.image_url)
    await tasks.submit({ prompt, ...request }, context)
    const { path, body } = world.sandbox.journal(prompt)[0]!
    return { path, prompt, body: body as Record<string, unknown> }
  }

  const all = { image_url: PIXEL_URI, duration: 5, resolution: '720p' }

  it("is the model's own input at fal, with the names of the route", async () => {
    const plain = await sent(['fal', 'video', 'fal-ai/kling/v3'], all)
    expect(plain.path).to.equal('/fal/fal-ai/kling/v3')
    expect(plain.body).to.deep.equal({ prompt: plain.prompt, ...all })
    const dressed = await sent(['fal', 'video', 'a/b'], all, {
      rename: { image_url: 'image_urls:list', duration: 'duration:seconds' },
      drop: ['resolution'],
      set: { aspect_ratio: '16:9' },
    })
    expect(dressed.body).to.deep.equal({
      prompt: dressed.prompt,
      image_urls: [PIXEL_URI],
      duration: '5s',
      aspect_ratio: '16:9',
    })
  })

  it('is wrapped in input at Replicate, by model or by version', async () => {
    const official = await sent(['replicate', 'video', 'google/veo'], all)
    expect(official.path).to.equal('/replicate/v1/models/google/veo/predictions')
    expect(official.body).to.deep.equal({
      input: { prompt: official.prompt, image: PIXEL_URI, duration: 5, resolution: '720p' },
    })
    const version = await sent(
      ['replicate', 'image', 'me/mine:0123abcd'],
      { image_url: PIXEL_URI },
      { rename: { image_url: 'start' } },
    )
    expect(version.path).to.equal('/replicate/v1/predictions')
    expect(version.body).to.deep.equal({
      version: 'me/mine:0123abcd',
      input: { prompt: version.prompt, start: PIXEL_URI },
    })
  })

  it('is a first frame at OpenRouter', async () => {
    const { body } = await sent(['openrouter', 'video', 'google/veo'], all)
    expect(body).to.deep.include({ model: 'google/veo', duration: 5, resolution: '720p' })
    expect(body.frame_images).to.deep.equal([
      { type: 'image_url', image_url: { url: PIXEL_URI }, frame_type: 'first_frame' },
    ])
  })

  it("is a form at servers with OpenAI's videos, with seconds as text", async () => {
    const { body } = await sent(['openai', 'video', 'sora'], all)
    expect(body.fields).to.include({ model: 'sora', seconds: '5', size: '1280x720' })
    expect(body.files).to.have.length(1).and.to.have.nested.property('[0].field', 'input_reference')
  })
})

describe('addresses from an upstream', () => {
  it('are never polled, and never get the key, if they are of another origin', async () => {
    const other = await serve((_request, response) => response.end('{}'))
    const urls = { status: `${other.origin}/s`, response: `${other.origin}/r`, cancel: `${other.origin}/c` }
    const lies = { request_id: 'r', status_url: urls.status, response_url: urls.response, cancel_url: urls.cancel }
    const liar = await serve((_request, response) => response.end(JSON.stringify(lies)))
    const world = await startWorld()
    const tasks = world.upstreams.adapterOf('fal').video as TaskMediaAdapter
    const context = contextOf(routeTo('fal', liar.origin))
    expect(await failureOf(tasks.submit({ prompt: 'x' }, context))).to.include({ kind: 'unknown' })
    const forged = { id: 'r', submittedAt: Date.now(), urls }
    expect(await failureOf(tasks.check(forged, context))).to.include({ kind: 'rejected' })
    await tasks.cancel(forged, context)
    expect(other.connections()).to.equal(0)
    await Promise.all([world.close(), other.close(), liar.close()])
  })

  it("are fetched with the key on the upstream's own origin, and without it elsewhere", async () => {
    const world = await startWorld()
    const tasks = world.upstreams.adapterOf('openrouter').video as TaskMediaAdapter
    const context = world.context('openrouter')
    const own = await endOf(tasks, await tasks.submit({ prompt: promptOf('own') }, context), context)
    expect(own).to.deep.nested.include({
      state: 'succeeded',
      'made.files[0].headers': { authorization: 'Bearer made-up' },
    })
    const prompt = promptOf('[result-url https://files.example.com/a.mp4]')
    const foreign = await endOf(tasks, await tasks.submit({ prompt }, context), context)
    expect(foreign).to.deep.equal({
      state: 'succeeded',
      made: { files: [{ from: 'url', url: 'https://files.example.com/a.mp4' }], costMicroUsd: 200_000 },
    })
    await world.close()
  })
})
