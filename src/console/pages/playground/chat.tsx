/**
 * A chat, streamed, that can be stopped.
 */
import type { ComponentChildren } from 'preact'
import type { RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { ModelEntry } from '../../api/endpoints.ts'
import type { ChatFields, ChatMessage } from '../../api/gateway.ts'
import { ErrorMessage } from '../../parts/basics.tsx'
import { Fold } from '../../parts/fold.tsx'
import { Field } from '../../parts/forms.tsx'
import type { Conversation } from '../../state/conversation.ts'
import { clearConversation, conversation, converse } from '../../state/conversation.ts'
import { playgroundKey } from '../../state/playground-key.ts'
import { ceilingOf } from './examples.ts'
import { AsCode, Ceiling, ModelChoice, Receipt } from './parts.tsx'

type Props = { models: ModelEntry[]; model: ModelEntry; choose: (id: string) => void }

export function ChatPlayground({ models, model, choose }: Props) {
  const talk = conversation.value
  const [text, setText] = useState('')
  const [maxTokens, setMaxTokens] = useState('')
  const field = useRef<HTMLTextAreaElement>(null)
  const next = nextMessages(talk.messages, text)
  const limit = Number(maxTokens) >= 1 ? { max_tokens: Math.floor(Number(maxTokens)) } : {}
  const fields: ChatFields = { model: model.id, messages: next, ...limit }
  const submit = (): void => {
    if (talk.running || text.trim() === '' || playgroundKey.value === '') return
    setText('')
    void converse(fields)
    field.current?.focus()
  }
  // The button that was pressed is gone then: what comes next is typed.
  const stop = (): void => {
    talk.running?.abort()
    field.current?.focus()
  }
  const clear = (): void => {
    clearConversation()
    field.current?.focus()
  }
  return (
    <div class="play">
      <section class="panel">
        <ModelChoice models={models} model={model} choose={choose} />
        <Fold name="Options">
          <Field
            label="Maximum output tokens"
            type="number"
            min={1}
            value={maxTokens}
            placeholder="1024"
            onInput={(event) => setMaxTokens(event.currentTarget.value)}
          />
          <AsCode kind="chat" fields={fields} />
        </Fold>
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
        <Composer field={field} text={text} type={setText} submit={submit}>
          <Ceiling most={ceilingOf(model, next, fields.max_tokens)} />
          <Buttons talk={talk} stop={stop} clear={clear} />
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

/** What would be sent now: the chat, and what is typed. Where there is neither, words that say what belongs there. */
function nextMessages(messages: ChatMessage[], text: string): ChatMessage[] {
  if (text.trim() !== '' || messages.length === 0)
    return [...messages, { role: 'user', content: text || 'Your message' }]
  return messages
}

type ComposerProps = {
  field: RefObject<HTMLTextAreaElement>
  text: string
  type: (text: string) => void
  submit: () => void
  children: ComponentChildren
}

/** Enter sends, Shift and Enter begins a line. */
function Composer({ field, text, type, submit, children }: ComposerProps) {
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
        ref={field}
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

function Buttons({ talk, stop, clear }: { talk: Conversation; stop: () => void; clear: () => void }) {
  const { running, messages } = talk
  if (running) {
    return (
      <button type="button" class="danger" onClick={stop}>
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
