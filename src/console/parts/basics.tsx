/**
 * The small parts that every page is made of.
 */
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { t } from '../language/language.ts'
import type { Problem } from '../api/client.ts'
import type { CallRecord } from '../api/endpoints.ts'
import { exactTime, localTime, number, utcTime } from './format.ts'
import { clock } from '../state/clock.ts'
import { titleOf } from '../state/site.ts'

/** The product's mark, as in `assets/pages/icon.svg`: a picture of its own would be one more document to load. */
export const Mark = ({ size }: { size: number }) => (
  <svg viewBox="0 0 32 32" width={size} height={size} aria-hidden="true">
    <rect width="32" height="32" rx="8" fill="#3451d1" />
    <path d="M7 25V11m0 2h18" fill="none" stroke="#fff" stroke-width="3.5" stroke-linecap="round" />
    <circle cx="7" cy="9" r="2.6" fill="#fff" />
    <path d="M14 18h11M14 22h7" fill="none" stroke="#b9c5ff" stroke-width="2.5" stroke-linecap="round" />
  </svg>
)

/** A moment in local time, which keeps up with the clock; exactly, and in UTC, on hover. */
export const Time = ({ iso, text = localTime }: { iso: string; text?: (iso: string, now: number) => string }) => (
  <time dateTime={iso} title={`${exactTime(iso)} · ${utcTime(iso)}`}>
    {text(iso, clock.value)}
  </time>
)

/** An e-mail address, which breaks before its @ where a line is too short for it. */
export function Email({ address }: { address: string }) {
  const at = address.lastIndexOf('@')
  return (
    <>
      {address.slice(0, at)}
      <wbr />
      {address.slice(at)}
    </>
  )
}

/** An account as operators recognise it: an organisation by its own name, next to its owner's address. */
export const AccountName = ({ email, name }: { email: string; name?: string | null | undefined }) =>
  name ? (
    <>
      {name}{' '}
      <small class="soft">
        <Email address={email} />
      </small>
    </>
  ) : (
    <Email address={email} />
  )

/** A link to an account, for operators. */
export const AccountLink = ({ id, ...named }: { id: string; email: string; name?: string | null | undefined }) => (
  <a href={`/operator/accounts/${id}`}>
    <AccountName {...named} />
  </a>
)

/** The status of a call, as a word with a dot next to it: never colour alone. */
export const Status = ({ status }: { status: CallRecord['status'] }) => (
  <span class={`status ${status}`}>{t.words.statuses[status]}</span>
)

/** Credits in a column: aligned by their digits. */
export const Amount = ({ value }: { value: number }) => <span class="digits">{number(value)}</span>

/** An error message, announced at once by screen readers. */
export const ErrorMessage = ({ problem, retry }: { problem: Problem | string | null; retry?: () => void }) =>
  problem && (
    <div class="trouble" role="alert">
      <span>{typeof problem === 'string' ? problem : problem.sentence}</span>
      {retry && (
        <button type="button" class="small quiet" onClick={retry}>
          {t.frame.tryAgain}
        </button>
      )}
    </div>
  )

/** What came of a form, announced when it changes. */
export const Done = ({ text }: { text: string | null }) => (
  <p class="done" role="status">
    {text}
  </p>
)

/** Nothing to show, and what to do about it. */
export const Empty = ({ title, children }: { title: string; children?: ComponentChildren }) => (
  <div class="empty">
    <strong>{title}</strong>
    <p>{children}</p>
  </div>
)

/** The place of something that is on its way, as tall as what will come. */
export const Loading = ({ rows = 6 }: { rows?: number }) => (
  <div class="waiting" aria-hidden="true">
    {Array.from({ length: rows }, (_, index) => (
      <span key={index} />
    ))}
  </div>
)

type FactProps = { name: string; long?: boolean; testId?: string; children: ComponentChildren }

/** A name and its value in a list of class `facts`. A long one takes two columns. */
export const Fact = ({ name, long = false, testId, children }: FactProps) => (
  <div class={long ? 'long' : undefined}>
    <dt>{name}</dt>
    <dd data-testid={testId}>{children}</dd>
  </div>
)

type PageProps = { title: string; aside?: ComponentChildren; children: ComponentChildren }

/** A page's frame: its title is the document's, and takes the focus when the page was changed. */
export function Page({ title, aside, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  // With the heading, not after it was drawn: a key that is pressed then must meet the new page.
  useLayoutEffect(() => {
    if (navigated()) heading.current?.focus()
  }, [title])
  const named = titleOf(title)
  useLayoutEffect(() => {
    document.title = named
  }, [named])
  return (
    <>
      <header class="title">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {aside}
      </header>
      {children}
    </>
  )
}

let pages = 0

/** Whether this page was opened from another one: the first page does not move the focus. */
const navigated = (): boolean => pages++ > 0

type ActionProps = { busy: boolean; busyText?: string; type?: 'button' | 'submit' } & JSX.IntrinsicElements['button']

/** A button that works on something: it stays focusable, and cannot be pressed twice. */
export function Action({ busy, busyText, children, onClick, type = 'button', ...rest }: ActionProps) {
  return (
    <button
      {...rest}
      type={type}
      aria-disabled={busy}
      aria-busy={busy}
      onClick={(event) => {
        if (!busy) onClick?.(event)
      }}
    >
      {busy && busyText ? busyText : children}
    </button>
  )
}

/** Copies a text and confirms it. */
export function Copy({ text, label = t.frame.copy }: { text: string; label?: string }) {
  const [state, setState] = useState<'idle' | 'done' | 'failed'>('idle')
  useEffect(() => {
    if (state === 'idle') return undefined
    const timer = setTimeout(() => setState('idle'), 2000)
    return () => clearTimeout(timer)
  }, [state])
  const copy = (): void => {
    // Without https a browser may have no clipboard.
    const written = navigator.clipboard
      ? navigator.clipboard.writeText(text)
      : Promise.reject(new Error('no clipboard'))
    written.then(
      () => setState('done'),
      () => setState('failed'),
    )
  }
  return (
    <button type="button" class="small quiet" onClick={copy}>
      <span aria-live="polite">{{ idle: label, done: t.frame.copied, failed: t.frame.selectAndCopy }[state]}</span>
    </button>
  )
}

/** Code to copy. */
export const Code = ({ text, label }: { text: string; label?: string }) => (
  <div class="code">
    <pre tabIndex={0}>
      <code>{text}</code>
    </pre>
    <Copy text={text} label={label} />
  </div>
)
