/**
 * A chat, streamed, that can be stopped.
 */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { problemOf } from '../../api/client.ts'
import type { Problem } from '../../api/client.ts'
import type { ModelEntry } from '../../api/endpoints.ts'
import type { ChatFields, ChatMessage, Cost } from '../../api/gateway.ts'
import { chat } from '../../api/gateway.ts'
import { ErrorMessage } from '../../parts/basics.tsx'
import { Field } from '../../parts/forms.tsx'
import { loadAccount } from '../../state/account.ts'
import { playgroundKey } from '../../state/playground-key.ts'
import { ceilingOf } from './examples.ts'
import { AsCode, Ceiling, ModelChoice, Receipt } from './parts.tsx'

type Conversation = {
  messages: ChatMessage[]
  problem: Problem | null
  cost: Cost | null
  callId: string | null
  running: AbortController | null
  stopped: boolean
}

const EMPTY_CONVERSATION: Conversation = {
  messages: [],
  problem: null,
  cost: null,
  callId: null,
  running: null,
  stopped: false,
}

/** The messages with a text added to the last one. */
const grown = (messages: ChatMessage[], text: string): ChatMessage[] =>
  messages.map((one, index) => (index === messages.length - 1 ? { ...one, content: one.content + text } : one))

function useConversation() {
  const [talk, setConversation] = useState(EMPTY_CONVERSATION)
  const put = (changes: (old: Conversation) => Partial<Conversation>): void =>
    setConversation((old) => ({ ...old, ...changes(old) }))
  const running = useRef<AbortController | null>(null)
  useEffect(() => () => running.current?.abort(), [])

  const send = async (fields: ChatFields): Promise<void> => {
    const controller = new AbortController()
    running.current = controller
    put(() => ({
      ...EMPTY_CONVERSATION,
      messages: [...fields.messages, { role: 'assistant', content: '' }],
      running: controller,
    }))
    try {
      const { callId, updates } = await chat(playgroundKey.value, fields, controller.signal)
      put(() => ({ callId }))
      for await (const one of updates) {
        if ('text' in one) put(({ messages }) => ({ messages: grown(messages, one.text) }))
        else put(() => ({ cost: one.cost }))
      }
      put(() => ({ running: null }))
    } catch (thrown) {
      const problem = controller.signal.aborted ? null : problemOf(thrown)
      put(({ messages }) => ({
        running: null,
        problem,
        stopped: controller.signal.aborted,
        messages: messages.at(-1)?.content === '' ? messages.slice(0, -1) : messages,
      }))
    }
    void loadAccount()
  }
  return {
    talk,
    send,
    clear: () => {
      running.current?.abort()
      setConversation(EMPTY_CONVERSATION)
    },
  }
}

type Props = { models: ModelEntry[]; model: ModelEntry; choose: (id: string) => void }

export function ChatPlayground({ models, model, choose }: Props) {
  const { talk, send, clear } = useConversation()
  const [text, setText] = useState('')
  const [maxTokens, setMaxTokens] = useState('')
  const next: ChatMessage[] = [...talk.messages, { role: 'user', content: text || 'Hello!' }]
  const limit = Number(maxTokens) >= 1 ? { max_tokens: Math.floor(Number(maxTokens)) } : {}
  const fields: ChatFields = { model: model.id, messages: next, ...limit }
  const submit = (): void => {
    if (talk.running || text.trim() === '' || playgroundKey.value === '') return
    setText('')
    void send({ ...fields, messages: [...talk.messages, { role: 'user', content: text }] })
  }
  return (
    <div class="play">
      <section class="panel">
        <ModelChoice models={models} model={model} choose={choose} />
        <Field
          label="Maximum output tokens"
          type="number"
          min={1}
          value={maxTokens}
          placeholder="1024"
          onInput={(event) => setMaxTokens(event.currentTarget.value)}
        />
        <AsCode kind="chat" fields={fields} />
      </section>
      <section class="panel talk">
        <Messages talk={talk} name={model.id} />
        <ErrorMessage problem={talk.problem} />
        {talk.cost && <Receipt cost={talk.cost} callId={talk.callId} />}
        {talk.stopped && (
          <p class="receipt" role="status">
            Stopped. You pay for the text generated so far.{' '}
            {talk.callId && <a href={`/calls/${talk.callId}`}>This call</a>}
          </p>
        )}
        <Composer text={text} type={setText} submit={submit}>
          <Ceiling most={ceilingOf(model, next, fields.max_tokens)} />
          <Buttons talk={talk} clear={clear} />
        </Composer>
      </section>
    </div>
  )
}

function Messages({ talk, name }: { talk: Conversation; name: string }) {
  const end = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (talk.messages.length > 0) end.current?.scrollIntoView({ block: 'nearest' })
  }, [talk.messages])
  return (
    <div
      class="messages"
      tabIndex={0}
      role="log"
      aria-label="Chat"
      aria-busy={talk.running !== null}
      data-testid="messages"
    >
      {talk.messages.length === 0 && (
        <p class="soft">Ask something. The answer appears as it is generated and is billed by the token.</p>
      )}
      {talk.messages.map(({ role, content }, index) => (
        <div key={index} class={`message ${role}`}>
          <small class="soft">{role === 'user' ? 'You' : name}</small>
          <p>{content || '…'}</p>
        </div>
      ))}
      <div ref={end} />
    </div>
  )
}

type ComposerProps = { text: string; type: (text: string) => void; submit: () => void; children: ComponentChildren }

/** Enter sends, Shift and Enter begins a line. */
function Composer({ text, type, submit, children }: ComposerProps) {
  const sent = (event: Event): void => {
    event.preventDefault()
    submit()
  }
  return (
    <form onSubmit={sent}>
      <label for="message" class="hidden">
        Message
      </label>
      <textarea
        id="message"
        rows={3}
        placeholder="Your message"
        value={text}
        onInput={(event) => type(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) sent(event)
        }}
      />
      <div class="row between">{children}</div>
    </form>
  )
}

function Buttons({ talk, clear }: { talk: Conversation; clear: () => void }) {
  const { running, messages } = talk
  if (running) {
    return (
      <button type="button" class="danger" onClick={() => running.abort()}>
        Stop
      </button>
    )
  }
  return (
    <span class="row">
      {messages.length > 0 && (
        <button type="button" class="quiet" onClick={clear}>
          New chat
        </button>
      )}
      <button type="submit" disabled={playgroundKey.value === ''}>
        Send
      </button>
    </span>
  )
}
