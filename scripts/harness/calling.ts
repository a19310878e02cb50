import { randomUUID } from 'node:crypto'
import type { Db } from '../../src/shared/platform/postgres/db.ts'
import { parseId } from '../../src/shared/platform/ids.ts'
import type { CallId } from '../../src/shared/platform/ids.ts'
import { findRecord } from '../../src/shared/reports/call-records.ts'
import type { CallRecord } from '../../src/shared/reports/call-records.ts'
import { entriesOfCall } from '../../src/shared/ledger/ledger.ts'
import type { TestAccount } from './factories.ts'
import type { Reply } from './http.ts'
import { post } from './http.ts'

/** A unique prompt, with these steering words for the sandbox. */
export const prompted = (words = ''): string => `${randomUUID()} ${words}`.trim()

type Caller = Pick<TestAccount, 'key'>
type Place = { url: string }

export const CHAT = '/v1/chat/completions'
export const IMAGES = '/v1/images/generations'
export const VIDEOS = '/v1/videos/generations'
export const OPENAI_VIDEOS = '/v1/videos'
export const EMBEDDINGS = '/v1/embeddings'
export const MODERATIONS = '/v1/moderations'
export const RERANK = '/v1/rerank'
export const SPEECH = '/v1/audio/speech'
export const TRANSCRIPTIONS = '/v1/audio/transcriptions'

/** The body of a chat with one user message. */
export const chatBody = (content: string, more: object = {}): Record<string, unknown> => ({
  model: 'sandbox-chat',
  messages: [{ role: 'user', content }],
  ...more,
})

/** The body of an image call. */
export const imageBody = (prompt: string, more: object = {}): Record<string, unknown> => ({
  model: 'sandbox-image',
  prompt,
  ...more,
})

const calling =
  (path: string, bodyOf: (prompt: string, more?: object) => object) =>
  ({ url }: Place, { key }: Caller, prompt: string, more?: object, headers?: Record<string, string>): Promise<Reply> =>
    post(`${url}${path}`, key, bodyOf(prompt, more), headers)

export const chat = calling(CHAT, chatBody)
export const image = calling(IMAGES, imageBody)

/** The bare id of the call that was answered. */
export function callOf(reply: Reply): CallId {
  const id = parseId('call', reply.headers.get('x-call-id') ?? '')
  if (!id) throw new Error(`the answer ${reply.status} ${reply.text} has no X-Call-Id`)
  return id
}

/** Changes the row of the call that was answered, as time or a crash would. */
export const changeCall = (db: Db, reply: Reply, fields: object): Promise<unknown> =>
  db('calls')
    .where({ id: callOf(reply) })
    .update(fields)

/** The record of the call that was answered. */
export async function recordOf(db: Db, reply: Reply): Promise<CallRecord> {
  const record = await findRecord(db, callOf(reply))
  if (!record) throw new Error(`the call of ${reply.status} ${reply.text} is not recorded`)
  return record
}

/** The movements of the call that was answered, as `kind amount`. */
export const movementsOf = async (db: Db, reply: Reply): Promise<string[]> =>
  (await entriesOfCall(db, callOf(reply))).map(({ kind, amount }) => `${kind} ${amount}`)

/** How many calls and ledger entries an account has. A refusal must change neither. */
export async function countsOf(
  db: Db,
  { id }: Pick<TestAccount, 'id'>,
): Promise<{ calls: number; charged: number; entries: number }> {
  const { rows } = await db.raw<{ rows: { calls: number; charged: number; entries: number }[] }>(
    `
    SELECT (SELECT coalesce(sum(count), 0)::bigint FROM calls WHERE account_id = u.id) AS calls,
      (SELECT count(*) FROM calls WHERE account_id = u.id AND status <> 'rejected') AS charged,
      (SELECT count(*) FROM ledger_entries WHERE account_id = u.id) AS entries FROM accounts u WHERE u.id = ?`,
    [id],
  )
  return rows[0]!
}
