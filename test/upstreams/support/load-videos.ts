import type { Db } from '../../../src/shared/platform/postgres/db.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import { post } from '../../../scripts/harness/http.ts'
import { VIDEOS } from '../../../scripts/harness/calling.ts'
import { quantile } from './load-streams.ts'
import { seenWithin } from '../../../scripts/harness/until.ts'

/** Videos to make at once, each of which takes `seconds` at its upstream. `words` steer the sandbox besides. */
export type VideoLoad = {
  url: string
  db: Db
  account: TestAccount
  model: string
  videos: number
  seconds: number
  words?: string
}

/** `late`: how long after the end of its task each call ended, in ms. `atOnce`: the most that ran at one time. */
export type VideoResult = {
  succeeded: number
  failed: number
  atOnce: number
  late: { p50: number; p99: number; most: number }
}

/** How many requests are sent at once. */
const ASKED_AT_ONCE = 20

/**
 * Requests the videos without waiting for them, and follows them until every call has ended.
 * @param onRunning is called repeatedly with the number of running calls
 */
export async function makeVideos(
  load: VideoLoad,
  onRunning: (running: number) => void = () => {},
): Promise<VideoResult> {
  const { url, db, account, model, videos, seconds, words = '' } = load
  let left = videos
  const askSome = async (): Promise<void> => {
    while (left-- > 0) {
      const reply = await post(
        `${url}${VIDEOS}`,
        account.key,
        { model, prompt: `A calm sea [duration ${seconds}] ${words}`.trim() },
        { prefer: 'respond-async' },
      )
      if (reply.status !== 202) throw new Error(`a video was answered ${reply.status} ${reply.text}`)
    }
  }
  const asked = Promise.all(Array.from({ length: ASKED_AT_ONCE }, askSome))
  let atOnce = 0
  await seenWithin(
    async () => {
      const counts = await countsOf(db, account)
      atOnce = Math.max(atOnce, counts.running)
      onRunning(counts.running)
      return counts.ended >= videos
    },
    Infinity,
    250,
  )
  await asked
  return { ...(await endsOf(load)), atOnce }
}

async function countsOf(db: Db, { id }: TestAccount): Promise<{ running: number; ended: number }> {
  const {
    rows: [counts],
  } = await db.raw<{ rows: { running: number; ended: number }[] }>(
    `
    SELECT count(*) FILTER (WHERE upstream_ref IS NOT NULL AND status = 'running') AS running,
      count(*) FILTER (WHERE status IN ('succeeded', 'failed')) AS ended FROM calls WHERE account_id = ?`,
    [id],
  )
  return counts!
}

async function endsOf({ db, account, seconds }: VideoLoad): Promise<Omit<VideoResult, 'atOnce'>> {
  const { rows } = await db.raw<{ rows: { status: string; late: number }[] }>(
    `
    SELECT status, (extract(epoch FROM finished_at) * 1000 - (upstream_ref->>'submittedAt')::float8 - ?)::float8 AS late
    FROM calls WHERE account_id = ?`,
    [seconds * 1000, account.id],
  )
  const done = rows.filter(({ status }) => status === 'succeeded')
  const late = Float64Array.from(done.map((row) => row.late)).toSorted()
  return {
    succeeded: done.length,
    failed: rows.length - done.length,
    late: { p50: quantile(late, 0.5), p99: quantile(late, 0.99), most: quantile(late, 1) },
  }
}
