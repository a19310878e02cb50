import '../require-node.ts'
import { parseArgs } from 'node:util'
import { runProgram } from '../harness/processes.ts'
import { describeTaken, machine, startStage, watching } from './stage.ts'
import type { Stage } from './stage.ts'
import { readStreams } from './streams-run.ts'

/**
 * `npx tsx scripts/measure/streams.ts [--streams 50] [--many 500] [--seconds 30]`: how long a chunk of a chat stream
 * takes from the upstream to the client, and whether many concurrent streams are complete, through one web and one
 * worker process of the compiled program.
 */
const { values: options } = parseArgs({
  options: {
    streams: { type: 'string', default: '50' },
    many: { type: 'string', default: '500' },
    seconds: { type: 'string', default: '30' },
  },
})

const MODEL = 'ticking'

const catalogueOf = (port: number) => ({
  upstreams: { ticking: { protocol: 'openai', baseUrl: `http://127.0.0.1:${port}/v1` } },
  models: [
    {
      id: MODEL,
      modality: 'chat',
      pricing: { input: 1, output: 1, perTokens: 1000, minimum: 1 },
      upstreams: [{ upstream: 'ticking', model: 'any' }],
    },
  ],
})

const ms = (value: number): string => `${value.toFixed(1)} ms`
const spread = ({ p50, p90, p99, most }: Record<'p50' | 'p90' | 'p99' | 'most', number>): string =>
  `p50 ${ms(p50)}, p90 ${ms(p90)}, p99 ${ms(p99)}, most ${ms(most)}`

/** Measures once and prints the result. Returns whether every stream was complete. */
async function measure(stage: Stage, streams: number, chunks: number, everyMs: number): Promise<boolean> {
  const { url, account, web, worker, others } = stage
  const direct = await readStreams({
    url: `http://127.0.0.1:${others.at(-1)!.port}`,
    key: 'none',
    model: MODEL,
    streams,
    chunks: Math.min(chunks, 100),
    everyMs,
  })
  const { result, seconds, taken } = await watching([web, worker, ...others], () =>
    readStreams({ url, key: account.key, model: MODEL, streams, chunks, everyMs }),
  )
  const { delays, firstChunk, complete, failures } = result
  console.log(`\n${streams} streams at once of ${chunks} chunks, one every ${everyMs} ms (${machine()})`)
  console.log(`  from upstream to client: ${spread(delays)}`)
  console.log(`  the same without the gateway: ${spread(direct.delays)}`)
  console.log(`  from request to first chunk: p50 ${ms(firstChunk.p50)}, p99 ${ms(firstChunk.p99)}`)
  console.log(`  whole: ${complete} of ${streams}, in ${seconds.toFixed(1)} s`)
  for (const failure of failures.slice(0, 3)) console.log(`  NOT WHOLE: ${failure}`)
  console.log(describeTaken(taken, seconds))
  return failures.length === 0
}

const stage = await startStage(
  'measure-streams',
  () => runProgram('upstream', 'scripts/measure/ticking-upstream.ts'),
  catalogueOf,
  { CHAT_CONCURRENCY: '1000', ACCOUNT_SHARE: '1' },
)
try {
  const seconds = Number(options.seconds)
  await readStreams({ url: stage.url, key: stage.account.key, model: MODEL, streams: 20, chunks: 20, everyMs: 20 })
  const few = await measure(stage, Number(options.streams), 100, 50)
  const many = await measure(stage, Number(options.many), seconds * 10, 100)
  process.exitCode = few && many ? 0 : 1
} finally {
  await stage.close()
}
