/**
 * The mails that were given up: sent again, or discarded.
 */
import { useState } from 'preact/hooks'
import type { MailRecord } from '../../api/operator.ts'
import { discardMail, getDeadMails, retryMail } from '../../api/operator.ts'
import { Action, Empty, ErrorMessage, Time } from '../../parts/basics.tsx'
import { Confirm } from '../../parts/dialogs.tsx'
import { number } from '../../parts/format.ts'
import { useSubmit } from '../../parts/forms.tsx'
import { List, Pager } from '../../parts/list.tsx'
import type { Column } from '../../parts/table.tsx'
import { Table } from '../../parts/table.tsx'
import { useLoad } from '../../state/load.ts'

const PATH = '/operator/mails'

const KINDS: Record<MailRecord['kind'], string> = {
  verification: 'Verification',
  reset: 'Password reset',
  address: 'New address',
  address_notice: 'Change of address',
  key_rotated: 'New secret of a key',
  access: 'What can use an account',
  budget: 'Budget',
  receipt: 'Receipt',
  low_balance: 'Low balance',
  top_up_failed: 'Automatic top-up failed',
  top_up_off: 'Automatic top-up off',
  webhook_off: 'Webhook disabled',
  invitation: 'Invitation',
  sign_in_changed: 'Change of the sign-in',
  sign_in: 'Sign-in at a provider',
}

export function MailsSection({ query }: { query: Record<string, string> }) {
  const { cursor } = query
  const mails = useLoad(`dead mails ${cursor ?? ''}`, () => getDeadMails(cursor))
  const [discarding, setDiscarding] = useState<MailRecord | null>(null)
  const { busy, problem, run } = useSubmit()
  const drop = (mail: MailRecord): void =>
    mails.change((page) => ({ ...page, data: page.data.filter(({ id }) => id !== mail.id) }))
  const retry = (mail: MailRecord): void =>
    run(async () => {
      await retryMail(mail.id)
      drop(mail)
    })
  const next = mails.data?.nextCursor
  const doing: Column<MailRecord> = {
    header: 'Retry or discard',
    hidden: true,
    right: true,
    cell: (mail) => (
      <span class="row">
        <Action
          class="small"
          busy={busy}
          aria-label={`Retry the e-mail to ${mail.recipient}`}
          onClick={() => retry(mail)}
        >
          Retry
        </Action>
        <button
          type="button"
          class="small danger"
          aria-label={`Discard the e-mail to ${mail.recipient}`}
          onClick={() => setDiscarding(mail)}
        >
          Discard
        </button>
      </span>
    ),
  }
  return (
    <section class="panel">
      <ErrorMessage problem={problem} />
      <List
        of={mails}
        empty={<Empty title="No undelivered e-mails">Every e-mail was delivered or will be tried again.</Empty>}
      >
        {(items) => <Table label="Mails" columns={[...COLUMNS, doing]} rows={items} keyOf={(mail) => mail.id} />}
      </List>
      <Pager path={PATH} query={query} next={next} />
      {discarding && <Discard mail={discarding} close={() => setDiscarding(null)} done={() => drop(discarding)} />}
    </section>
  )
}

const Discard = ({ mail, close, done }: { mail: MailRecord; close: () => void; done: () => void }) => (
  <Confirm
    title="Discard this e-mail?"
    verb="Discard"
    busyText="Discarding…"
    danger
    close={close}
    work={async () => {
      await discardMail(mail.id)
      done()
    }}
  >
    {mail.recipient} will never get it.
  </Confirm>
)

const COLUMNS: Column<MailRecord>[] = [
  { header: 'Requested', cell: (mail) => <Time iso={mail.createdAt} /> },
  { header: 'Kind', cell: (mail) => KINDS[mail.kind] },
  { header: 'To', cell: (mail) => mail.recipient },
  { header: 'Tries', right: true, class: 'digits', cell: (mail) => number(mail.tries) },
  { header: 'Last error', class: 'wrap', cell: (mail) => mail.note },
]
