/**
 * A chat, streamed, that can be stopped; with one model, or with two side by side.
 */
import type { ComponentChildren, RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { t } from '../../language/language.ts'
import type { ModelEntry } from '../../api/endpoints.ts'
import type { ChatFields, ChatMessage } from '../../api/call-forms.ts'
import { credits } from '../../parts/format.ts'
import { Collapsible } from '../../parts/collapsible.tsx'
import { account } from '../../state/account.ts'
import type { Lane } from '../../state/conversation.ts'
import { beginConversation, converse, lanes } from '../../state/conversation.ts'
import { ceilingOf } from './ceiling.ts'
import { LaneView } from './lane.tsx'
import type { Options } from './options.tsx'
import { NO_OPTIONS, OptionFields, withOptions } from './options.tsx'
import { AsCode, Ceiling, ModelChoice, Setup } from './parts.tsx'
import { useQuote } from './quote.ts'

const words = t.playground

type Props = {
  models: ModelEntry[]
  model: ModelEntry
  choose: (id: string) => void
  /** The model to compare with; null if there is one chat. */
  other: ModelEntry | null
  compare: (id: string | null) => void
}

/** A chat and the model that answers in it, with what would be sent next and its price. */
type Side = { lane: Lane; model: ModelEntry; fields: ChatFields; most: number }

/** What would be sent to a model in a chat, and what it would be charged at most. */
function useSide(lane: Lane, model: ModelEntry | null, text: string, options: Options): Side | null {
  const messages = nextMessages(lane.value.messages, text)
  const fields = model && { model: model.id, ...withOptions(messages, options) }
  const otherwise = model && fields ? ceilingOf(model, fields.messages, fields.max_tokens) : 0
  // An answer that grows changes what comes next with each word: it is asked about when it ends.
  const most = useQuote('chat', lane.value.running ? null : fields, otherwise)
  return model && fields && { lane, model, fields, most }
}

/** What can be done with all chats at once. `take` returns whether there is something to send, and clears the field. */
function useActions(sides: Side[], options: Options, field: RefObject<HTMLTextAreaElement>, take: () => boolean) {
  // The button that was pressed is gone then: what comes next is typed.
  const afterwards = (): void => field.current?.focus()
  const each = (act: (side: Side) => void) => (): void => {
    for (const side of sides) act(side)
    afterwards()
  }
  const send = each(({ lane, fields }) => void converse(lane, fields))
  const submit = (): void => {
    if (take()) send()
  }
  const retry = each(({ lane, model }) => {
    const { messages } = lane.value
    const asked = messages.slice(0, messages.findLastIndex(({ role }) => role === 'user') + 1)
    if (asked.length > 0) void converse(lane, { model: model.id, ...withOptions(asked, options) })
  })
  const stop = each(({ lane }) => lane.value.running?.abort())
  const clear = each(({ lane }) => beginConversation(lane))
  return { submit, retry, stop, clear, afterwards }
}

export function ChatPlayground({ models, model, choose, other, compare }: Props) {
  const [text, setText] = useState('')
  const [options, setOptions] = useState(NO_OPTIONS)
  const field = useRef<HTMLTextAreaElement>(null)
  const first = useSide(lanes[0], model, text, options)!
  const second = useSide(lanes[1], other, text, options)
  const sides = second ? [first, second] : [first]
  const running = sides.some(({ lane }) => lane.value.running)
  const { submit, retry, stop, clear, afterwards } = useActions(sides, options, field, () => {
    if (running || text.trim() === '') return false
    setText('')
    return true
  })
  return (
    <div class="play">
      <section class="panel">
        <Setup model={model}>
          <ModelChoice models={models} model={model} choose={choose} />
          <Comparison models={models} model={model} other={other} compare={compare} />
        </Setup>
        <Collapsible name={words.options}>
          <OptionFields models={sides.map((side) => side.model)} options={options} put={setOptions} />
        </Collapsible>
        <AsCode example={{ kind: 'chat', fields: first.fields }} />
      </section>
      <section class="panel talk">
        {second ? (
          <div class="lanes">
            {sides.map((side, index) => (
              <LaneView
                key={index}
                talk={side.lane.value}
                name={side.model.name ?? side.model.id}
                head={<Head side={side} afterwards={afterwards} />}
              />
            ))}
          </div>
        ) : (
          <LaneView talk={first.lane.value} name={model.id} />
        )}
        {second && <AfterBoth />}
        <Composer field={field} text={text} type={setText} submit={submit}>
          <Ceiling most={sides.reduce((sum, { most }) => sum + most, 0)} both={second !== null} />
          <Buttons
            running={running}
            begun={sides.some(({ lane }) => lane.value.messages.length > 0)}
            stopWord={sides.filter(({ lane }) => lane.value.running).length > 1 ? words.stopBoth : words.stop}
            stop={stop}
            clear={clear}
            retry={retry}
          />
        </Composer>
      </section>
    </div>
  )
}

/** The balance when two calls are paid; while one is on its way, it still holds what it was charged first. */
const AfterBoth = () =>
  account.value &&
  lanes.every(({ value: { cost, running } }) => cost && !running) && (
    <p class="receipt">{words.after(<strong class="digits">{credits(account.value.credits)}</strong>)}</p>
  )

/** The other model, or the offer to compare with one. */
function Comparison({ models, model, other, compare }: Omit<Props, 'choose'>) {
  const another = models.find(({ id }) => id !== model.id)
  // Models are compared from the current state of the chat.
  useEffect(() => {
    if (other && lanes[1].peek().messages.length === 0) beginConversation(lanes[1], lanes[0].peek().messages)
    if (!other) beginConversation(lanes[1])
  }, [other === null])
  if (other) {
    return (
      <>
        <ModelChoice label={words.compareWith} models={models} model={other} choose={compare} />
        <button type="button" class="small quiet" onClick={() => compare(null)}>
          {words.stopComparing}
        </button>
      </>
    )
  }
  if (!another) return null
  return (
    <button type="button" class="small quiet" onClick={() => compare(another.id)}>
      {words.compare}
    </button>
  )
}

/** Which model answers, and its own price and Stop. */
const Head = ({ side: { lane, model, most }, afterwards }: { side: Side; afterwards: () => void }) => (
  <header class="row between">
    <span>
      <strong>{model.name ?? model.id}</strong>{' '}
      <small class="soft">{words.most(<span class="digits">{credits(most)}</span>)}</small>
    </span>
    {lane.value.running && (
      <button
        type="button"
        class="small danger"
        aria-label={words.stopOne(model.name ?? model.id)}
        onClick={() => {
          lane.value.running?.abort()
          afterwards()
        }}
      >
        {words.stop}
      </button>
    )}
  </header>
)

/** What would be sent now: the chat, and what is typed. Without both, a placeholder. */
function nextMessages(messages: ChatMessage[], text: string): ChatMessage[] {
  if (text.trim() !== '' || messages.length === 0)
    return [...messages, { role: 'user', content: text || words.yourMessage }]
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
        {words.message}
      </label>
      <textarea
        ref={field}
        id="message"
        rows={3}
        placeholder={words.yourMessage}
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

type ButtonProps = {
  running: boolean
  begun: boolean
  stopWord: string
  stop: () => void
  clear: () => void
  retry: () => void
}

function Buttons({ running, begun, stopWord, stop, clear, retry }: ButtonProps) {
  if (running) {
    return (
      <button type="button" class="danger" onClick={stop}>
        {stopWord}
      </button>
    )
  }
  return (
    <span class="row">
      {begun && (
        <>
          <button type="button" class="quiet" onClick={clear}>
            {words.newChat}
          </button>
          <button type="button" class="quiet" onClick={retry}>
            {words.retry}
          </button>
        </>
      )}
      <button type="submit">{words.send}</button>
    </span>
  )
}
