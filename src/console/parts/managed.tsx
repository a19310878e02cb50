/**
 * What is for owner and admins of an account alone. The server refuses it to members; this shows it before a request.
 */
import type { ComponentChildren } from 'preact'
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
        <Empty title="This page is for the owner and admins">
          Ask one of them, or switch to your personal account in the account menu.
        </Empty>
      </section>
    </Page>
  )
}
