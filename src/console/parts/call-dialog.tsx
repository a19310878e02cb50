/**
 * The drawer in which one call is shown, to its customer or to operators.
 */
import type { ComponentChildren } from 'preact'
import { t } from '../language/language.ts'
import type { Problem } from '../api/client.ts'
import { Copy, ErrorMessage, Loading } from './basics.tsx'
import { Dialog } from './dialogs.tsx'

type Props<T> = {
  id: string
  /** What is loaded of the call. */
  of: { data: T | undefined; problem: Problem | null; reload: () => void }
  /** The message if there is no such call. */
  missing: string
  close: () => void
  children: (data: T) => ComponentChildren
}

/** Shows a call once it is loaded, and until then that it is, or why it cannot be. */
export const CallDialog = <T,>({ id, of: { data, problem, reload }, missing, close, children }: Props<T>) => (
  <Dialog title={t.frame.search.call} close={close} drawer>
    <p class="id">
      <code>{id}</code>
      <Copy text={id} />
    </p>
    {problem?.code === 'not_found' ? (
      <ErrorMessage problem={missing} />
    ) : (
      <ErrorMessage problem={problem} retry={reload} />
    )}
    {data === undefined ? !problem && <Loading rows={10} /> : children(data)}
  </Dialog>
)
