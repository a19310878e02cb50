/**
 * A new secret, which is shown once.
 */
import type { ComponentChildren } from 'preact'
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
export const SecretDialog = ({ title, secret, copy = 'Copy the key', close, children }: Props) => (
  <Dialog title={title} close={close} keep>
    <div class="notice" role="status">
      Copy it now. It will not be shown again.
    </div>
    <div data-testid="secret">
      <Code text={secret} label={copy} />
    </div>
    {children}
    <button type="button" onClick={close}>
      Done
    </button>
  </Dialog>
)
