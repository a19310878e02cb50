/**
 * What is for owner and admins of an account alone. The server refuses it to members; this shows it before a request.
 */
import type { ComponentChildren } from 'preact'
import { t } from '../language/language.ts'
import { account, mayManage } from '../state/account.ts'
import { Empty, Loading, Page } from './basics.tsx'

/** A page. `title`: of one that is for owner and admins; undefined for everybody's. */
export function Managed({ title, children }: { title: string | undefined; children: ComponentChildren }) {
  if (title === undefined) return <>{children}</>
  if (!account.value) return <Loading rows={8} />
  if (mayManage()) return <>{children}</>
  return (
    <Page title={title}>
      <section class="panel">
        <Empty title={t.frame.forManagers}>{t.frame.askManagers}</Empty>
      </section>
    </Page>
  )
}
