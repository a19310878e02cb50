/**
 * One chat: its messages, and what the last answer cost. Two are next to each other where models are compared.
 */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { t } from '../../language/language.ts'
import { ErrorMessage } from '../../parts/basics.tsx'
import { credits } from '../../parts/format.ts'
import { Markdown } from '../../parts/markdown.tsx'
import type { Conversation } from '../../state/conversation.ts'
import { Receipt } from './parts.tsx'

const words = t.playground

type Props = {
  talk: Conversation
  /** Who answers. */
  name: string
  /** Above the chat, if there is more than one. */
  head?: ComponentChildren
}

export const LaneView = ({ talk, name, head }: Props) => (
  <section class="lane" aria-label={head ? name : undefined}>
    {head}
    <Messages talk={talk} name={name} label={head ? words.chatWith(name) : t.words.kinds.chat} />
    <ErrorMessage problem={talk.problem} />
    {talk.cost && <Receipt cost={talk.cost} callId={talk.callId} part={head !== undefined} />}
    {talk.stopped && (
      <p class="receipt" role="status">
        {talk.stoppedCost === null
          ? words.stoppedSoFar
          : words.stopped(<strong class="digits">{credits(talk.stoppedCost)}</strong>)}{' '}
        {talk.callId && <a href={`/calls/${talk.callId}`}>{words.thisCall}</a>}
      </p>
    )}
  </section>
)

function Messages({ talk, name, label }: { talk: Conversation; name: string; label: string }) {
  const box = useRef<HTMLDivElement>(null)
  // While an answer grows, the box alone scrolls: the page stays where its reader has it.
  useEffect(() => {
    if (talk.messages.length > 0) box.current?.scrollTo({ top: box.current.scrollHeight })
  }, [talk.messages])
  useEffect(() => {
    if (talk.messages.length > 0) box.current?.closest('.talk')?.scrollIntoView({ block: 'nearest' })
  }, [talk.running === null])
  return (
    <div
      ref={box}
      class="messages"
      tabIndex={0}
      role="log"
      aria-label={label}
      aria-busy={talk.running !== null}
      data-testid="messages"
    >
      {talk.messages.length === 0 && <p class="soft">{words.ask}</p>}
      {talk.messages.map(({ role, content }, index) => (
        <div key={index} class={`message ${role}`}>
          <small class="soft">{role === 'user' ? t.words.fields.you : name}</small>
          {role === 'assistant' && content !== '' ? <Markdown text={content} /> : <p>{content || '…'}</p>}
        </div>
      ))}
    </div>
  )
}
