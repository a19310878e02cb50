/**
 * A chat stream on its way through the worker: chunks go to the waiting client as they come, and are put together into the
 * answer that is stored.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { CallNews } from '../shared/calls/channels.ts'
import type { ChatCompletion } from './upstreams/adapter.ts'

type Chunk = Record<string, unknown>
type Choice = { index: number; message: Record<string, unknown>; finish_reason: unknown; [field: string]: unknown }

/** Puts chunks in OpenAI's form together into the completion that a request without `stream` would have had. */
export class ChatAssembly {
  private fields: Record<string, unknown> = {}
  private readonly choices = new Map<number, Choice>()

  /** Takes the next chunk. */
  add(chunk: Chunk): void {
    const { choices, object: _object, ...fields } = chunk
    this.fields = { ...this.fields, ...fields }
    for (const piece of Array.isArray(choices) ? choices as Chunk[] : []) this.addChoice(piece)
  }

  /** Whether anything was produced. */
  get isEmpty(): boolean {
    return this.choices.size === 0
  }

  /** What was produced so far. `cutOff` is the finish_reason of choices that the upstream did not finish. */
  completion(cutOff: string): ChatCompletion {
    const choices = [...this.choices.values()].toSorted((a, b) => a.index - b.index)
      .map((choice) => ({ ...choice, finish_reason: choice.finish_reason ?? cutOff }))
    return {
      created: Math.floor(Date.now() / 1000), ...this.fields,
      id: typeof this.fields.id === 'string' ? this.fields.id : 'chatcmpl', object: 'chat.completion', choices,
    }
  }

  private addChoice({ index, delta, finish_reason, ...rest }: Chunk): void {
    const at = typeof index === 'number' ? index : 0
    const choice = this.choices.get(at) ?? { index: at, message: { role: 'assistant', content: null }, finish_reason: null }
    Object.assign(choice, withoutNulls(rest))
    if (finish_reason) choice.finish_reason = finish_reason
    for (const [field, value] of Object.entries((delta ?? {}) as Chunk)) mergeField(choice.message, field, value)
    this.choices.set(at, choice)
  }
}

const withoutNulls = (fields: Chunk): Chunk => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))

/** Texts are appended, tool calls merged by their index, everything else replaced. */
function mergeField(message: Record<string, unknown>, field: string, value: unknown): void {
  if (value === null || value === undefined) return
  if (field === 'tool_calls' && Array.isArray(value)) message.tool_calls = mergeToolCalls(message.tool_calls, value as Chunk[])
  else if (typeof value === 'string' && field !== 'role') message[field] = `${(message[field] as string | null) ?? ''}${value}`
  else message[field] = value
}

function mergeToolCalls(known: unknown, pieces: Chunk[]): Chunk[] {
  const calls = (known ?? []) as Chunk[]
  for (const { index, function: called, ...rest } of pieces) {
    const at = typeof index === 'number' ? index : calls.length
    const call = calls[at] ??= { id: '', type: 'function', function: { name: '', arguments: '' } }
    Object.assign(call, withoutNulls(rest))
    const target = call.function as { name: string; arguments: string }
    const piece = (called ?? {}) as { name?: string; arguments?: string }
    target.name += piece.name ?? ''
    target.arguments += piece.arguments ?? ''
  }
  return calls
}

/** The most characters of chunks that leave in one publication, but for a single chunk that is longer. */
const MAX_BATCH = 256 * 1024

/** The pace of one stream, in characters per ms. No model writes as fast; Redis cuts a subscriber off when 32 MB wait for it. */
const PACE = 4 * 1024

/** The smallest publication behind which there is a pause, in characters: 4 ms of that pace. */
const PACED_FROM = 16 * 1024

/**
 * Passes chunks on. One publication is on its way at a time and what comes meanwhile leaves with the next: an idle stream
 * pays no delay, a fast one fewer messages. A stream of many megabytes is slowed down, because all streams of its web
 * process would be lost with the subscription.
 */
export class ChunkRelay {
  private waiting: string[] = []
  private sent = 0
  private sending: Promise<void> | null = null
  private readonly publish: (news: CallNews) => Promise<void>

  constructor(publish: (news: CallNews) => Promise<void>) {
    this.publish = publish
  }

  /** Sends a chunk, JSON text. */
  push(chunk: string): void {
    this.waiting.push(chunk)
    this.sending ??= this.drain()
  }

  /** Resolves when everything has left, so that the call's end is not overtaking its last chunk. */
  async flush(): Promise<void> {
    await this.sending
  }

  /** Forgets what has not left: its reader has gone, or will be told of the failure. */
  drop(): void {
    this.waiting = []
  }

  private async drain(): Promise<void> {
    while (this.waiting.length > 0) {
      const { chunks, size } = this.nextBatch()
      const from = this.sent
      this.sent += chunks.length
      await this.publish({ type: 'chunks', from, chunks })
      if (size >= PACED_FROM) await sleep(size / PACE)
    }
    this.sending = null
  }

  private nextBatch(): { chunks: string[]; size: number } {
    let count = 0
    let size = 0
    while (count < this.waiting.length && size < MAX_BATCH) size += this.waiting[count++]!.length
    return { chunks: this.waiting.splice(0, count), size }
  }
}
