/**
 * Dialogs and drawers: the browser's own <dialog>, which keeps the focus inside and closes with Escape.
 */
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { t } from '../language/language.ts'
import { Action, ErrorMessage } from './basics.tsx'
import { useSubmit } from './forms.tsx'

type Props = {
  title: string
  close: () => void
  children: ComponentChildren
  drawer?: boolean
  /** As wide as code needs. */
  wide?: boolean
  /** It shows what cannot be shown again: only a button among its children closes it. */
  keep?: boolean
}

/** Shown while it is rendered. Escape and a press outside close it, unless `keep` is set. */
export function Dialog({ title, close, children, drawer = false, wide = false, keep = false }: Props) {
  const dialog = useRef<HTMLDialogElement>(null)
  // Before it is drawn: no key or press reaches the page behind it.
  useLayoutEffect(() => {
    const own = dialog.current!
    const before = document.activeElement as HTMLElement | null
    own.showModal()
    return () => {
      own.close()
      // The button that opened this may have been removed by now.
      const restore = (): void => {
        if (before?.isConnected) before.focus()
      }
      restore()
      // Going back to an address with a fragment moves the focus there, after this.
      requestAnimationFrame(restore)
    }
  }, [])
  return (
    <dialog
      ref={dialog}
      class={drawer ? 'drawer' : wide ? 'box wide' : 'box'}
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault()
        if (!keep) close()
      }}
      onClose={() => {
        // A browser lets a second Escape close any dialog.
        if (keep && dialog.current?.isConnected) dialog.current.showModal()
      }}
      onMouseDown={(event) => {
        if (event.target === dialog.current && !keep) close()
      }}
    >
      <article>
        <header>
          <h2>{title}</h2>
          {!keep && (
            <button type="button" class="quiet shut" aria-label={t.frame.close} onClick={close}>
              ✕
            </button>
          )}
        </header>
        {children}
      </article>
    </dialog>
  )
}

type ConfirmProps = {
  title: string
  /** What happens then. */
  children: ComponentChildren
  /** The words of the button, and those while it works. */
  verb: string
  busyText: string
  danger?: boolean
  /** Does it; the dialog closes when it is done. */
  work: () => Promise<void>
  close: () => void
}

/** Asks before something is done that is not lightly undone. */
export function Confirm({ title, children, verb, busyText, danger = false, work, close }: ConfirmProps) {
  const { busy, problem, run } = useSubmit()
  const go = (): void =>
    run(async () => {
      await work()
      close()
    })
  return (
    <Dialog title={title} close={close}>
      <p>{children}</p>
      <ErrorMessage problem={problem} />
      <div class="row">
        <Action class={danger ? 'danger' : ''} busy={busy} busyText={busyText} onClick={go}>
          {verb}
        </Action>
        <button type="button" class="quiet" onClick={close}>
          {t.frame.cancel}
        </button>
      </div>
    </Dialog>
  )
}
