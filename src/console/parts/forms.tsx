/**
 * Fields of forms, with their labels, hints and faults.
 */
import type { ComponentChildren, JSX, Ref } from 'preact'
import { createContext } from 'preact'
import { useContext, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { t } from '../language/language.ts'
import { Problem, problemOf } from '../api/client.ts'
import { Action, ErrorMessage } from './basics.tsx'

/** What went wrong in a form, and the name of the field that it is about; null: about none. */
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

/** A form whose errors are shown at their fields, and bring the focus there. Others are its `<FormError>`. */
export function Form({ problem: asked, onSubmit, about, form, children, ...rest }: FormProps) {
  const own = useRef<HTMLFormElement>(null)
  const [unread, setUnread] = useState<Problem | null>(null)
  const element = form ?? own
  const problem = unread ?? asked
  const name = problem && fieldOf(problem, problem.about ?? about?.[problem.code], element.current)
  // With the message, not after it was drawn: what is typed next belongs into the field.
  useLayoutEffect(() => {
    const field = name === null ? null : element.current?.elements.namedItem(name)
    if (!(field instanceof HTMLElement)) return
    field.closest('details')?.setAttribute('open', '')
    field.focus()
  }, [problem])
  const submit = (event: Event): void => {
    const fault = unreadable(event.currentTarget as HTMLFormElement)
    setUnread(fault)
    if (fault) event.preventDefault()
    else onSubmit(event)
  }
  return (
    <form {...rest} ref={element} onSubmit={submit} noValidate>
      <FormProblem.Provider value={{ problem, name }}>{children}</FormProblem.Provider>
    </form>
  )
}

/** What a form may call a field of a request: by its whole path, by the last name in it, or by the first. */
function namesOf(path: string): string[] {
  const names = path.split(/[.[\]]+/).filter((part) => /^[a-z]/.test(part))
  return [path, names.at(-1)!, names[0]!]
}

/** The name of the field that a problem is about; null: about none. */
function fieldOf(problem: Problem, about: string | undefined, form: HTMLFormElement | null): string | null {
  const names = about === undefined ? (problem.field === undefined ? [] : namesOf(problem.field)) : [about]
  return names.find((name) => form?.elements.namedItem(name)) ?? null
}

/** A label without what it explains in brackets. */
const wordsOf = (label: string): string => label.replace(/ \(.*\)$|（.*）$/, '')

/** The first field with a text that its browser could not read, and would send as empty. */
function unreadable(form: HTMLFormElement): Problem | null {
  const inputs = [...form.elements].filter((one) => one instanceof HTMLInputElement)
  const odd = inputs.find(({ validity }) => validity.badInput)
  if (!odd) return null
  const label = wordsOf(odd.labels?.[0]?.textContent ?? odd.name)
  return new Problem('invalid_request', t.frame.mustBe(label, odd.type === 'date'), odd.name)
}

/** The error of a form that is about none of its fields. */
export function FormError() {
  const { problem, name } = useContext(FormProblem)
  return <ErrorMessage problem={name === null ? problem : null} />
}

type SubmitProps = {
  busy: boolean
  busyText?: string
  /** The button's text, and its class. */
  verb: string
  class?: string
  /** The button is at the foot of a dialog. */
  foot?: boolean
  /** What a second button does, which submits nothing. */
  cancel?: () => void
  cancelText?: string
}

/** The end of a form: the error that is about none of its fields, and the button that submits it. */
export function Submit({ verb, foot = false, cancel, cancelText = t.frame.cancel, ...rest }: SubmitProps) {
  const button = (
    <Action type="submit" {...rest}>
      {verb}
    </Action>
  )
  return (
    <>
      <FormError />
      {cancel ? (
        <div class="row">
          {button}
          <button type="button" class="quiet" onClick={cancel}>
            {cancelText}
          </button>
        </div>
      ) : foot ? (
        <div class="foot">{button}</div>
      ) : (
        button
      )}
    </>
  )
}

/** The error of one field, in which its label takes the place of its name. */
function faultOf(
  label: string,
  name: string | undefined,
  { problem, name: at }: { problem: Problem | null; name: string | null },
): string | null {
  if (!problem || name === undefined || at !== name) return null
  const { field, message, sentence } = problem
  if (!field || !namesOf(field).includes(name)) return sentence
  // Of a list in one field, which of its elements.
  const element = /\[(\d+)\]$/.exec(field)?.[1]
  const which = element === undefined ? '' : t.frame.nth(Number(element) + 1)
  return t.errors.fault(`${wordsOf(label)}${which}`, message.slice(field.length + 1))
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

/** A box to tick. A fault about it is shown below, in its own words. */
export function Check({ name, checked, children }: { name: string; checked?: boolean; children: ComponentChildren }) {
  const id = useId()
  const { problem, name: at } = useContext(FormProblem)
  const fault = problem && at === name ? problem.sentence : null
  return (
    <div class="field">
      <label class="check">
        <input
          type="checkbox"
          name={name}
          defaultChecked={checked}
          aria-invalid={fault ? 'true' : undefined}
          aria-describedby={fault ? `${id}-fault` : undefined}
        />
        {children}
      </label>
      {fault && (
        <small id={`${id}-fault`} class="fault" role="alert">
          {fault}
        </small>
      )}
    </div>
  )
}

/** A password that can be shown on demand. */
export function PasswordField(props: Omit<FieldProps, 'type' | 'after'>) {
  const [visible, setVisible] = useState(false)
  return (
    <Field
      autoCapitalize="off"
      spellcheck={false}
      {...props}
      type={visible ? 'text' : 'password'}
      after={
        <button
          type="button"
          class="quiet"
          aria-label={visible ? t.frame.hidePassword : t.frame.showPassword}
          onClick={() => setVisible(!visible)}
        >
          {visible ? t.frame.hide : t.frame.show}
        </button>
      }
    />
  )
}

/** The field of a code of an authenticator app. */
export const CodeField = (props: { autoFocus?: boolean }) => (
  <Field
    label={t.frame.codeOfApp}
    name="code"
    inputMode="numeric"
    autoComplete="one-time-code"
    maxLength={20}
    required
    {...props}
  />
)

/**
 * Whose password a form is about, for password managers: a form with a password and no name makes them save a second
 * entry, or the old one. It is invisible.
 */
export function Username({ of }: { of: string | undefined }) {
  return of === undefined ? null : (
    <input class="hidden" type="text" autoComplete="username" value={of} readOnly tabIndex={-1} aria-hidden="true" />
  )
}

type ChoiceProps = { label: string; options: readonly (readonly [string, string])[] } & JSX.IntrinsicElements['select']

/** A labelled choice. */
export function Choice({ label, options, id, ...select }: ChoiceProps) {
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
  /** Makes the handler that submits a form, of work on its fields. */
  submits: (work: (fields: Record<string, string>) => Promise<void>) => (event: Event) => void
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
  const submits: SubmitState['submits'] = (work) => (event) => {
    const fields = fieldsOf(event)
    run(() => work(fields))
  }
  return { busy, problem, run, submits }
}

/** The fields of a submitted form as texts. */
export function fieldsOf(event: Event): Record<string, string> {
  event.preventDefault()
  const entries = [...new FormData(event.currentTarget as HTMLFormElement)]
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
}

/**
 * A form that stays open: it shows what was done, and is empty again if `form` is its `form`.
 * `submits` makes the handler that submits it, of work on its fields that answers with what was done.
 */
export function useStaying() {
  const { busy, problem, run } = useSubmit()
  const [outcome, setOutcome] = useState<string | null>(null)
  const form = useRef<HTMLFormElement>(null)
  const submits = (work: (fields: Record<string, string>) => Promise<string>) => (event: Event) => {
    const fields = fieldsOf(event)
    setOutcome(null)
    run(async () => {
      setOutcome(await work(fields))
      form.current?.reset()
    })
  }
  return { busy, problem, outcome, form, submits }
}
