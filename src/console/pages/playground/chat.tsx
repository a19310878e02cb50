/**
 * A chat, streamed, that can be stopped.
 */
import type { ComponentChildren, RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { ModelEntry } from '../../api/endpoints.ts'
import type { ChatFields, ChatMessage } from '../../api/gateway.ts'
import { ErrorMessage } from '../../parts/basics.tsx'
import { credits } from '../../parts/format.ts'
import { Markdown } from '../../parts/markdown.tsx'
import { Fold } from '../../parts/fold.tsx'
import { Field } from '../../parts/forms.tsx'
import type { Conversation } from '../../state/conversation.ts'
import { clearConversation, conversation, converse } from '../../state/conversation.ts'
import { ceilingOf } from './examples.ts'
import { useQuote } from './quote.ts'
import { AsCode, Ceiling, ModelChoice, Receipt } from './parts.tsx'

type Props = { models: ModelEntry[]; model: ModelEntry; choose: (id: string) => void }

export function ChatPlayground({ models, model, choose }: Props) {
  const talk = conversation.value
  const [text, setText] = useState('')
  const [options, setOptions] = useState(NO_OPTIONS)
  const field = useRef<HTMLTextAreaElement>(null)
  const fieldsFor = (messages: ChatMessage[]): ChatFields => ({ model: model.id, ...withOptions(messages, options) })
  const fields = fieldsFor(nextMessages(talk.messages, text))
  const most = useQuote('chat', fields, ceilingOf(model, fields.messages, fields.max_tokens))
  const submit = (): void => {
    if (talk.running || text.trim() === '') return
    setText('')
    void converse(fields)
    field.current?.focus()
  }
  const retry = (): void => {
    const last = talk.messages.findLastIndex(({ role }) => role === 'user')
    void converse(fieldsFor(talk.messages.slice(0, last + 1)))
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
          <OptionFields options={options} put={setOptions} />
        </Fold>
        <AsCode kind="chat" fields={fields} />
      </section>
      <section class="panel talk">
        <Messages talk={talk} name={model.id} />
        <ErrorMessage problem={talk.problem} />
        {talk.cost && <Receipt cost={talk.cost} callId={talk.callId} />}
        {talk.stopped && (
          <p class="receipt" role="status">
            {talk.stoppedCost === null ? (
              'Stopped. You pay for the text generated so far.'
            ) : (
              <>
                Stopped. It cost <strong class="digits">{credits(talk.stoppedCost)}</strong>.
              </>
            )}{' '}
            {talk.callId && <a href={`/calls/${talk.callId}`}>This call</a>}
          </p>
        )}
        <Composer field={field} text={text} type={setText} submit={submit}>
          <Ceiling most={most} />
          <Buttons talk={talk} stop={stop} clear={clear} retry={retry} />
        </Composer>
      </section>
    </div>
  )
}

type Options = { system: string; temperature: string; maxTokens: string }

const NO_OPTIONS: Options = { system: '', temperature: '', maxTokens: '' }

/** The fields of a request with the options that were chosen; a system prompt goes before all messages. */
function withOptions(messages: ChatMessage[], { system, temperature, maxTokens }: Options): Omit<ChatFields, 'model'> {
  return {
    messages: system.trim() === '' ? messages : [{ role: 'system', content: system }, ...messages],
    ...(Number(maxTokens) >= 1 && { max_tokens: Math.floor(Number(maxTokens)) }),
    ...(temperature !== '' && { temperature: Number(temperature) }),
  }
}

function OptionFields({ options, put }: { options: Options; put: (options: Options) => void }) {
  const set = (name: keyof Options) => (event: Event) =>
    put({ ...options, [name]: (event.currentTarget as HTMLInputElement).value })
  return (
    <>
      <div class="field">
        <label for="system">System prompt</label>
        <textarea
          id="system"
          rows={3}
          placeholder="You are a helpful assistant."
          value={options.system}
          onInput={set('system')}
        />
      </div>
      <Field
        label="Temperature"
        type="number"
        min={0}
        max={2}
        step={0.1}
        value={options.temperature}
        placeholder="the model's own"
        onInput={set('temperature')}
      />
      <Field
        label="Maximum output tokens"
        type="number"
        min={1}
        value={options.maxTokens}
        placeholder="1024"
        onInput={set('maxTokens')}
      />
    </>
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
          {role === 'assistant' && content !== '' ? <Markdown text={content} /> : <p>{content || '…'}</p>}
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

type ButtonProps = { talk: Conversation; stop: () => void; clear: () => void; retry: () => void }

function Buttons({ talk, stop, clear, retry }: ButtonProps) {
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
        <>
          <button type="button" class="quiet" onClick={clear}>
            New chat
          </button>
          <button type="button" class="quiet" onClick={retry}>
            Retry
          </button>
        </>
      )}
      <button type="submit">Send</button>
    </span>
  )
}
