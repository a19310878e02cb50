import '../require-node.ts'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { run } from '../harness/processes.ts'
import { root } from '../folders.ts'
import { describeTaken, machine, startStage, watching } from './stage.ts'
import { makeVideos } from './videos-run.ts'

/**
 * `npx tsx scripts/measure/videos.ts [--videos 1000] [--seconds 30]`: what videos cost the one worker process
 * that polls all of them, and whether every one is settled.
 */
const { values: options } = parseArgs({
  options: {
    videos: { type: 'string', default: '1000' },
    seconds: { type: 'string', default: '30' },
  },
})

const MODEL = 'sea'

const catalogueOf = (port: number) => ({
  upstreams: { sandbox: { protocol: 'openai', baseUrl: `http://127.0.0.1:${port}/v1`, apiKeyEnv: 'SANDBOX_API_KEY' } },
  models: [
    { id: MODEL, modality: 'video', credits: 250, upstreams: [{ upstream: 'sandbox', model: 'video-sandbox' }] },
  ],
})

const sandbox = () =>
  run('sandbox', [join(root, 'dist/src/sandbox/main.js'), '--port', '0'], {}, /listening on http:\/\/[^:]+:(\d+)/)
const stage = await startStage('measure-videos', sandbox, catalogueOf, { SANDBOX_API_KEY: 'sk-made-up' })
try {
  const [videos, seconds] = [Number(options.videos), Number(options.seconds)]
  const { url, db, account, web, worker, others } = stage
  const {
    result,
    seconds: lasted,
    taken,
  } = await watching([worker, web, ...others], () => makeVideos({ url, db, account, model: MODEL, videos, seconds }))
  const { cpuSeconds, beforeMb, mostMb } = taken[0]!
  console.log(
    `\n${videos} videos of ${seconds} s each, ${result.atOnce} of them at once, ` +
      `in ${lasted.toFixed(1)} s (${machine()})`,
  )
  console.log(`  settled: ${result.succeeded}, refunded: ${result.failed}`)
  const [p50, p99, most] = [result.late.p50, result.late.p99, result.late.most].map((ms) => (ms / 1000).toFixed(1))
  console.log(`  settled after the end of the task: p50 ${p50} s, p99 ${p99} s, most ${most} s`)
  const [cpuMs, kb] = [((1000 * cpuSeconds) / videos).toFixed(1), ((1024 * (mostMb - beforeMb)) / videos).toFixed(0)]
  console.log(`  the worker, for each video from its submission to its settlement: ${cpuMs} ms of CPU, ${kb} KB`)
  console.log(describeTaken(taken, lasted))
  process.exitCode = result.succeeded === videos ? 0 : 1
} finally {
  await stage.close()
}
