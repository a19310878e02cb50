/**
 * A new secret, which is shown once.
 */
import type { ComponentChildren } from 'preact'
import { t } from '../language/language.ts'
import { Code } from './basics.tsx'
import { Dialog } from './dialogs.tsx'

type Props = {
  title: string
  secret: string
  /** The words of the button that copies it. */
  copy?: string
  close: () => void
  children?: ComponentChildren
}

/** Shows a secret until its button is pressed. */
export const SecretDialog = ({ title, secret, copy = t.frame.copyKey, close, children }: Props) => (
  <Dialog title={title} close={close} keep>
    <div class="notice" role="status">
      {t.frame.copyNow}
    </div>
    <div data-testid="secret">
      <Code text={secret} label={copy} />
    </div>
    {children}
    <button type="button" onClick={close}>
      {t.frame.done}
    </button>
  </Dialog>
)
