/**
 * What a model answered in a chat, for as long as the gateway keeps it. It is asked for when it is opened.
 */
import { useState } from 'preact/hooks'
import { t } from '../language/language.ts'
import type { Dialect } from '../api/call-forms.ts'
import { fetchAnswer } from '../api/gateway.ts'
import type { AnswerPart } from '../api/answer-parts.ts'
import { answerParts } from '../api/answer-parts.ts'
import { useLoad } from '../state/load.ts'
import { withPlaygroundKey } from '../state/playground-key.ts'
import { Code, ErrorMessage, Loading } from './basics.tsx'
import { Markdown } from './markdown.tsx'

const words = t.calls

/** The answer of a call, folded until it is opened. */
export function CallAnswer({ id, dialect }: { id: string; dialect: Dialect }) {
  const [opened, setOpened] = useState(false)
  return (
    <details onToggle={(event) => event.currentTarget.open && setOpened(true)}>
      <summary>{t.words.fields.answer}</summary>
      {opened && <Answer id={id} dialect={dialect} />}
    </details>
  )
}

function Answer({ id, dialect }: { id: string; dialect: Dialect }) {
  const answer = useLoad(`answer ${id}`, () => withPlaygroundKey((key) => fetchAnswer(key, id)))
  if (answer.problem?.code === 'result_expired') return <p class="soft">{words.answerGone}</p>
  if (answer.problem) return <ErrorMessage problem={answer.problem} retry={answer.reload} />
  if (!answer.data) return <Loading rows={3} />
  const parts = answerParts(dialect, answer.data)
  return (
    <div data-testid="answer">
      {parts.length === 0 && <p class="soft">{words.saidNothing}</p>}
      {parts.map((one, index) => (
        <Part key={index} part={one} />
      ))}
    </div>
  )
}

function Part({ part }: { part: AnswerPart }) {
  if (part.is === 'tool') {
    return (
      <>
        <p>{words.tool(<code>{part.name}</code>)}</p>
        <Code text={part.input} />
      </>
    )
  }
  if (part.is === 'text') return <Markdown text={part.text} />
  return (
    <details>
      <summary>{words.thinking}</summary>
      <Markdown text={part.text} />
    </details>
  )
}
