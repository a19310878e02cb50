/**
 * What a model answered in a chat, for as long as the gateway keeps it. It is asked for when it is opened.
 */
import { useState } from 'preact/hooks'
import type { Dialect } from '../api/call-forms.ts'
import { fetchAnswer } from '../api/gateway.ts'
import type { Said } from '../api/said.ts'
import { saidIn } from '../api/said.ts'
import { useLoad } from '../state/load.ts'
import { withPlaygroundKey } from '../state/playground-key.ts'
import { Code, ErrorMessage, Loading } from './basics.tsx'
import { Markdown } from './markdown.tsx'

/** The answer of a call, folded until it is opened. */
export function CallAnswer({ id, dialect }: { id: string; dialect: Dialect }) {
  const [opened, setOpened] = useState(false)
  return (
    <details onToggle={(event) => event.currentTarget.open && setOpened(true)}>
      <summary>Answer</summary>
      {opened && <Answer id={id} dialect={dialect} />}
    </details>
  )
}

function Answer({ id, dialect }: { id: string; dialect: Dialect }) {
  const answer = useLoad(`answer ${id}`, () => withPlaygroundKey((key) => fetchAnswer(key, id)))
  if (answer.problem?.code === 'result_expired') return <p class="soft">The answer is no longer kept.</p>
  if (answer.problem) return <ErrorMessage problem={answer.problem} retry={answer.reload} />
  if (!answer.data) return <Loading rows={3} />
  const said = saidIn(dialect, answer.data)
  return (
    <div data-testid="answer">
      {said.length === 0 && <p class="soft">The model said nothing.</p>}
      {said.map((one, index) => (
        <Part key={index} said={one} />
      ))}
    </div>
  )
}

function Part({ said }: { said: Said }) {
  if (said.is === 'tool') {
    return (
      <>
        <p>
          Calls the tool <code>{said.name}</code>
        </p>
        <Code text={said.input} />
      </>
    )
  }
  if (said.is === 'text') return <Markdown text={said.text} />
  return (
    <details>
      <summary>Thinking</summary>
      <Markdown text={said.text} />
    </details>
  )
}
