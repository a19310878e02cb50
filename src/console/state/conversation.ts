/**
 * The chats of the playground: one, or two side by side. They outlive the page: an answer goes on while its reader
 * is on another page.
 */
import type { Signal } from '@preact/signals'
import { effect, signal } from '@preact/signals'
import type { Problem } from '../api/client.ts'
import { problemOf } from '../api/client.ts'
import type { ChatFields, ChatMessage } from '../api/call-forms.ts'
import type { Cost } from '../api/gateway.ts'
import { chat } from '../api/gateway.ts'
import { loadAccount, onCall } from './account.ts'
import { withPlaygroundKey } from './playground-key.ts'
import { token } from './session.ts'

export type Conversation = {
  messages: ChatMessage[]
  problem: Problem | null
  cost: Cost | null
  callId: string | null
  running: AbortController | null
  stopped: boolean
  /** The credits of an answer that was stopped, once it is settled. */
  stoppedCost: number | null
}

const EMPTY: Conversation = {
  messages: [],
  problem: null,
  cost: null,
  callId: null,
  running: null,
  stopped: false,
  stoppedCost: null,
}

export type Lane = Signal<Conversation>

/** The chat, and the one next to it where two models are compared. */
export const lanes: readonly [Lane, Lane] = [signal(EMPTY), signal(EMPTY)]

/** Begins a new chat, perhaps with the messages of another one; an answer that is on its way is stopped. */
export function beginConversation(lane: Lane, messages: ChatMessage[] = []): void {
  lane.peek().running?.abort()
  lane.value = { ...EMPTY, messages }
}

// The next person at this browser must not see what the last one wrote.
effect(() => {
  if (token.value === null) for (const lane of lanes) beginConversation(lane)
})

/** The messages with a text added to the last one. */
const grown = (messages: ChatMessage[], text: string): ChatMessage[] =>
  messages.map((one, index) => (index === messages.length - 1 ? { ...one, content: one.content + text } : one))

/** Sends the messages and shows the answer as it comes. Errors are shown, never thrown. */
export async function converse(lane: Lane, fields: ChatFields): Promise<void> {
  const controller = new AbortController()
  const put = (changes: (old: Conversation) => Partial<Conversation>): void => {
    const old = lane.peek()
    if (old.running === controller) lane.value = { ...old, ...changes(old) }
  }
  const dialogue = fields.messages.filter(({ role }) => role !== 'system')
  const messages: ChatMessage[] = [...dialogue, { role: 'assistant', content: '' }]
  lane.value = { ...EMPTY, messages, running: controller }
  try {
    const { callId, updates } = await withPlaygroundKey((key) => chat(key, fields, controller.signal))
    put(() => ({ callId }))
    for await (const one of updates) {
      if ('text' in one) put((old) => ({ messages: grown(old.messages, one.text) }))
      else put(() => ({ cost: one.cost }))
    }
    put(() => ({ running: null }))
  } catch (thrown) {
    const stopped = controller.signal.aborted
    put((old) => ({
      running: null,
      problem: stopped ? null : problemOf(thrown),
      stopped,
      messages: old.messages.at(-1)?.content === '' ? old.messages.slice(0, -1) : old.messages,
    }))
  }
  void loadAccount()
}

// What a stopped answer cost is known when its call has ended, shortly after the client has disconnected.
onCall(({ id, status, credits }) => {
  if (status !== 'succeeded' && status !== 'failed') return
  for (const lane of lanes) {
    const now = lane.peek()
    if (now.stopped && now.callId === id) lane.value = { ...now, stoppedCost: credits }
  }
})
