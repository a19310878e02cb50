/**
 * The mails that were given up: sent again, or discarded.
 */
import { useState } from 'preact/hooks'
import { t } from '../../language/language.ts'
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

const words = t.records

const PATH = '/operator/mails'

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
    header: words.retryOrDiscard,
    hidden: true,
    right: true,
    cell: (mail) => (
      <span class="row">
        <Action class="small" busy={busy} aria-label={words.retryOne(mail.recipient)} onClick={() => retry(mail)}>
          {t.playground.retry}
        </Action>
        <button
          type="button"
          class="small danger"
          aria-label={words.discardOne(mail.recipient)}
          onClick={() => setDiscarding(mail)}
        >
          {words.discard}
        </button>
      </span>
    ),
  }
  return (
    <section class="panel">
      <ErrorMessage problem={problem} />
      <List of={mails} empty={<Empty title={words.noMails}>{words.allDelivered}</Empty>}>
        {(items) => <Table label={words.mails} columns={[...COLUMNS, doing]} rows={items} keyOf={(mail) => mail.id} />}
      </List>
      <Pager path={PATH} query={query} next={next} />
      {discarding && <Discard mail={discarding} close={() => setDiscarding(null)} done={() => drop(discarding)} />}
    </section>
  )
}

const Discard = ({ mail, close, done }: { mail: MailRecord; close: () => void; done: () => void }) => (
  <Confirm
    title={words.discardTitle}
    verb={words.discard}
    busyText={words.discarding}
    danger
    close={close}
    work={async () => {
      await discardMail(mail.id)
      done()
    }}
  >
    {words.never(mail.recipient)}
  </Confirm>
)

const COLUMNS: Column<MailRecord>[] = [
  { header: words.requested, cell: (mail) => <Time iso={mail.createdAt} /> },
  { header: t.words.fields.kind, cell: (mail) => words.mailKinds[mail.kind] },
  { header: words.to, cell: (mail) => mail.recipient },
  { header: t.words.fields.tries, right: true, class: 'digits', cell: (mail) => number(mail.tries) },
  { header: words.lastError, class: 'wrap', cell: (mail) => mail.note },
]
