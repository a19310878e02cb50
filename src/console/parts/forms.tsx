/**
 * Fields of forms, with their labels, hints and faults.
 */
import type { ComponentChildren, JSX } from 'preact'
import { useId, useRef, useState } from 'preact/hooks'
import type { Problem } from '../api/client.ts'
import { problemOf } from '../api/client.ts'

type FieldProps = {
  label: string
  hint?: ComponentChildren
  invalid?: boolean
  after?: ComponentChildren
} & JSX.IntrinsicElements['input']

/** A labelled input. */
export function Field({ label, hint, invalid = false, after, id, ...input }: FieldProps) {
  const own = useId()
  const name = (id as string | undefined) ?? own
  return (
    <div class="field">
      <label for={name}>{label}</label>
      <div class="input">
        <input
          {...input}
          id={name}
          aria-invalid={invalid ? 'true' : undefined}
          aria-describedby={hint ? `${name}-hint` : undefined}
        />
        {after}
      </div>
      {hint && <small id={`${name}-hint`}>{hint}</small>}
    </div>
  )
}

/** A password that can be shown on demand. */
export function PasswordField(props: Omit<FieldProps, 'type' | 'after'>) {
  const [visible, setVisible] = useState(false)
  const word = visible ? 'Hide' : 'Show'
  return (
    <Field
      autoCapitalize="off"
      spellcheck={false}
      {...props}
      type={visible ? 'text' : 'password'}
      after={
        <button type="button" class="quiet" aria-label={`${word} the password`} onClick={() => setVisible(!visible)}>
          {word}
        </button>
      }
    />
  )
}

/** A labelled choice. */
export function Choice({
  label,
  options,
  id,
  ...select
}: { label: string; options: readonly (readonly [string, string])[] } & JSX.IntrinsicElements['select']) {
  const own = useId()
  const name = (id as string | undefined) ?? own
  return (
    <div class="field">
      <label for={name}>{label}</label>
      <select {...select} id={name}>
        {options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </div>
  )
}

/** An action that can fail: `run` performs one at a time. */
export type SubmitState = {
  busy: boolean
  problem: Problem | null
  run: (work: () => Promise<void>) => void
  clear: () => void
}

export function useSubmit(): SubmitState {
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<Problem | null>(null)
  const running = useRef(false)
  const run = (work: () => Promise<void>): void => {
    if (running.current) return
    running.current = true
    setBusy(true)
    setProblem(null)
    work()
      .catch((thrown: unknown) => setProblem(problemOf(thrown)))
      .finally(() => {
        running.current = false
        setBusy(false)
      })
  }
  return { busy, problem, run, clear: () => setProblem(null) }
}

/** The fields of a submitted form as texts. */
export function fieldsOf(event: Event): Record<string, string> {
  event.preventDefault()
  const entries = [...new FormData(event.currentTarget as HTMLFormElement)]
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
}
