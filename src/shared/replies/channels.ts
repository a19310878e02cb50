/** The Redis channels between workers and web processes, and their messages. Pure. */
import type { AccountId, CallId } from '../platform/ids.ts'
import type { Answer, LongAnswer } from '../calls/stored-answers.ts'
import { INLINE_BYTES, isLong } from '../calls/stored-answers.ts'
import type { SessionUse } from '../calls/tries.ts'
import type { CallStatus } from '../terms/lifecycle.ts'

/**
 * An update that a worker publishes while a call runs. `progress` is 0 to 100. `chunks` are frames of the call's
 * dialect, as JSON texts; `from` is the number of the first of them, so that a lost message is noticed; `words` and
 * `isEnd` are what the stream has come to with the last of them: the UTF-8 bytes of its words, and whether each choice
 * has ended. `lost`: its worker is gone, and what was delivered of its stream is to be settled
 * (docs/architecture.md#lost-streams). `session`: how the call's session was served, before its first chunk.
 */
export type CallUpdate =
  | { type: 'running' }
  | { type: 'progress'; progress: number }
  | { type: 'chunks'; from: number; chunks: string[]; words: number; isEnd: boolean }
  | { type: 'lost' }
  | { type: 'session'; session: SessionUse }

/** Chunks of one stream, as an update has them. */
export type Chunks = Omit<CallUpdate & { type: 'chunks' }, 'type'> & { callId: CallId }

/**
 * A change of an account, for its followers: of one of its calls, or (`callId` null) of its balance alone. Amounts in
 * credits.
 */
export type AccountEvent =
  | { callId: CallId; status: CallStatus; balance: number | null }
  | { callId: null; balance: number }

/** Answers and updates for one web process. */
export const replyChannel = (prefix: string, address: string): string => `${prefix}:reply:${address}`

/** Changes of one account's calls. */
export const eventChannel = (prefix: string, account: AccountId): string => `${prefix}:events:${account}`

/** The account of an event channel; null for any other channel. */
export const accountOfChannel = (prefix: string, channel: string): AccountId | null =>
  channel.startsWith(`${prefix}:events:`) ? (channel.slice(prefix.length + ':events:'.length) as AccountId) : null

/** Accounts that a process begins to follow, for all that publish their changes. */
export const followChannel = (prefix: string): string => `${prefix}:follow`

/** Calls whose streaming client has disconnected, for all workers. */
export const cancelChannel = (prefix: string): string => `${prefix}:cancel`

/** A message on a reply channel. `stored`: the call has ended, and its answer is to be read from its row. */
export type Reply = { callId: CallId } & (
  | { kind: 'end'; answer: Answer }
  | { kind: 'stored' }
  | { kind: 'update'; update: CallUpdate }
)

/**
 * The reply that carries the end of a call. A long answer is not in it: Redis disconnects a subscriber when 32 MB wait
 * for it, and a web process would hold the answers of many calls at once.
 */
export const endOf = (callId: CallId, answer: Answer | LongAnswer): Reply =>
  isLong(answer) || answer.pictures || answer.body.length > INLINE_BYTES
    ? { callId, kind: 'stored' }
    : { callId, kind: 'end', answer }

/**
 * A reply as text: the call's id (36 characters), a word, and bodies and chunks as they are, so that neither side
 * serializes them a second time.
 */
export function writeReply(reply: Reply): string {
  if (reply.kind === 'end') return `${reply.callId} end ${reply.answer.status} ${reply.answer.body}`
  if (reply.kind === 'stored') return `${reply.callId} row`
  const { update } = reply
  return update.type === 'chunks'
    ? writeChunks([{ callId: reply.callId, ...update }])
    : `${reply.callId} new ${JSON.stringify(update)}`
}

/** Messages to one channel as one: a blank line, which JSON text never has, is between them. */
export const joined = (messages: readonly string[]): string => messages.join('\n\n')

/** Takes apart what `joined` has put together. */
export const parted = (message: string): string[] => message.split('\n\n')

/** Chunks of many streams as one text. */
export const writeChunks = (parts: readonly Chunks[]): string =>
  joined(
    parts.map(
      ({ callId, from, words, isEnd, chunks }) =>
        `${callId} txt ${from} ${words} ${isEnd ? 'end' : 'more'}\n${chunks.join('\n')}`,
    ),
  )

/** Reads what `writeReply` and `writeChunks` wrote. */
export const readReplies = (message: string): Reply[] => parted(message).map(readReply)

function readReply(message: string): Reply {
  const callId = message.slice(0, 36) as CallId
  const word = message.slice(37, 40)
  const rest = message.slice(41)
  if (word === 'end') return { callId, kind: 'end', answer: { status: Number(rest.slice(0, 3)), body: rest.slice(4) } }
  if (word === 'row') return { callId, kind: 'stored' }
  if (word === 'new') return { callId, kind: 'update', update: JSON.parse(rest) as CallUpdate }
  const chunks = rest.split('\n')
  const [from, words, end] = chunks.shift()!.split(' ')
  const update = { type: 'chunks', from: Number(from), chunks, words: Number(words), isEnd: end === 'end' } as const
  return { callId, kind: 'update', update }
}
