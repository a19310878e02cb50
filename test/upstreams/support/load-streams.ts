import { Agent, request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { CHAT } from '../../../scripts/harness/calling.ts'
import { clock, ticks } from './ticking-upstream.ts'

/** Streams to read at once, each of `chunks` chunks that leave the upstream every `everyMs`. */
export type StreamLoad = { url: string; key: string; model: string; streams: number; chunks: number; everyMs: number }

/** Times in ms. `failures` quotes the end of each stream that was not complete. */
export type StreamResult = {
  complete: number
  failures: string[]
  delays: { p50: number; p90: number; p99: number; most: number }
  firstChunk: { p50: number; p99: number }
}

/** The value below which this share of the numbers lies. */
export function quantile(sorted: Float64Array, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

/** Reads the streams at once, over a connection each, and measures the time of every chunk from the upstream. */
export async function readStreams(load: StreamLoad): Promise<StreamResult> {
  const agent = new Agent({ maxSockets: Infinity })
  const delays: number[] = []
  const firstChunks: number[] = []
  const ends = await Promise.all(Array.from({ length: load.streams }, () => readOne(load, agent, delays, firstChunks)))
  agent.destroy()
  const sorted = Float64Array.from(delays).toSorted()
  const first = Float64Array.from(firstChunks).toSorted()
  const failures = ends.filter((end) => end !== null)
  return {
    complete: ends.length - failures.length,
    failures,
    delays: {
      p50: quantile(sorted, 0.5),
      p90: quantile(sorted, 0.9),
      p99: quantile(sorted, 0.99),
      most: quantile(sorted, 1),
    },
    firstChunk: { p50: quantile(first, 0.5), p99: quantile(first, 0.99) },
  }
}

/** Null if every chunk came and then `[DONE]`; otherwise what came last. */
async function readOne(
  { url, key, model, chunks, everyMs }: StreamLoad,
  agent: Agent,
  delays: number[],
  firstChunks: number[],
): Promise<string | null> {
  const begunAt = clock()
  const body = JSON.stringify({
    model,
    stream: true,
    max_tokens: chunks,
    messages: [{ role: 'user', content: ticks(chunks, everyMs) }],
  })
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request(
      `${url}${CHAT}`,
      { method: 'POST', agent, headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` } },
      resolve,
    )
      .once('error', reject)
      .end(body)
  })
  let seen = 0
  let rest = ''
  let last = ''
  try {
    for await (const piece of response.setEncoding('utf8')) {
      const now = clock()
      const lines = (rest + (piece as string)).split('\n\n')
      rest = lines.pop()!
      last = lines.at(-1) ?? last
      for (const line of lines) {
        const leftAt = /"content":"([\d.]+) "/.exec(line)?.[1]
        if (leftAt === undefined) continue
        if (seen++ === 0) firstChunks.push(now - begunAt)
        delays.push(now - Number(leftAt))
      }
    }
  } catch (error) {
    return String(error)
  }
  return seen === chunks && last === 'data: [DONE]'
    ? null
    : `${response.statusCode}, ${seen} chunks, then ${last}${rest}`
}
