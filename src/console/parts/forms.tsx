/**
 * Fields of forms, with their labels, hints and faults.
 */
import type { ComponentChildren, JSX, Ref } from 'preact'
import { createContext } from 'preact'
import { useContext, useEffect, useId, useRef, useState } from 'preact/hooks'
import type { Problem } from '../api/client.ts'
import { problemOf } from '../api/client.ts'
import { ErrorMessage } from './basics.tsx'

/** What went wrong in a form, and the name of the field that it stands beside; null: beside none. */
const FormProblem = createContext<{ problem: Problem | null; name: string | null }>({ problem: null, name: null })

type FormProps = {
  problem: Problem | null
  onSubmit: (event: Event) => void
  /** The fields that error codes are about. A message that begins with a field's name needs no entry. */
  about?: Partial<Record<Problem['code'], string>>
  class?: string
  form?: Ref<HTMLFormElement> & { current: HTMLFormElement | null }
  children: ComponentChildren
}

/** A form whose errors stand beside their fields, and bring the focus there. Others are its `<FormError>`. */
export function Form({ problem, onSubmit, about, form, children, ...rest }: FormProps) {
  const own = useRef<HTMLFormElement>(null)
  const element = form ?? own
  const said = problem && (about?.[problem.code] ?? problem.field)
  const field = said ? (element.current?.elements.namedItem(said) ?? null) : null
  const name = field ? said! : null
  useEffect(() => {
    if (field instanceof HTMLElement) field.focus()
  }, [problem])
  return (
    <form {...rest} ref={element} onSubmit={onSubmit} noValidate>
      <FormProblem.Provider value={{ problem, name }}>{children}</FormProblem.Provider>
    </form>
  )
}

/** The error of a form that stands beside none of its fields. */
export function FormError() {
  const { problem, name } = useContext(FormProblem)
  return <ErrorMessage problem={name === null ? problem : null} />
}

/** The error of one field, in which its label takes the place of its name. */
function faultOf(
  label: string,
  name: string | undefined,
  { problem, name: at }: { problem: Problem | null; name: string | null },
): string | null {
  if (!problem || name === undefined || at !== name) return null
  const words = label.replace(/ \(.*\)$/, '')
  return problem.field === name ? `${words} ${problem.message.slice(name.length + 1)}` : problem.message
}

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
  const fault = faultOf(label, input.name as string | undefined, useContext(FormProblem))
  const described = [fault && `${name}-fault`, hint && `${name}-hint`].filter(Boolean).join(' ')
  return (
    <div class="field">
      <label for={name}>{label}</label>
      <div class="input">
        <input
          {...input}
          id={name}
          aria-invalid={invalid || fault ? 'true' : undefined}
          aria-describedby={described || undefined}
        />
        {after}
      </div>
      {fault && (
        <small id={`${name}-fault`} class="fault" role="alert">
          {fault}
        </small>
      )}
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
