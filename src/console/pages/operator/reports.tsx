/**
 * Any call, the mails that were given up, the upstreams, and what operators did.
 */
import { useLocation } from 'preact-iso'
import type { MailRecord, OperatorAction, UpstreamReport } from '../../api/operator.ts'
import { getActions, getAnyCall, getDeadMails, getUpstreams, retryMail } from '../../api/operator.ts'
import { Action, Empty, Time, ErrorMessage, Loading } from '../../parts/basics.tsx'
import { duration, number, share } from '../../parts/format.ts'
import { Field, fieldsOf, useSubmit } from '../../parts/forms.tsx'
import { ErrorNote, Facts, Media, Trail } from '../../parts/call-details.tsx'
import { List } from '../../parts/list.tsx'
import type { Column } from '../../parts/table.tsx'
import { Table } from '../../parts/table.tsx'
import { useLoad } from '../../state/load.ts'

export function CallSection({ id }: { id: string }) {
  const { route } = useLocation()
  const submit = (event: Event): void => {
    const { call = '' } = fieldsOf(event)
    if (call.trim() !== '') route(`/operator/calls/${encodeURIComponent(call.trim())}`)
  }
  return (
    <section class="panel">
      <form class="finder" onSubmit={submit}>
        <Field
          key={id}
          label="Find a call"
          name="call"
          defaultValue={id}
          placeholder="call_…"
          hint="The call id, from the X-Call-Id response header."
        />
        <button type="submit">Show</button>
      </form>
      {id === '' ? (
        <Empty title="Which call?">Customers find the id in the response and in their console.</Empty>
      ) : (
        <AnyCall key={id} id={id} />
      )}
    </section>
  )
}

function AnyCall({ id }: { id: string }) {
  const { data, problem, reload } = useLoad(`any call ${id}`, () => getAnyCall(id))
  if (problem?.code === 'not_found') return <ErrorMessage problem="There is no such call." />
  if (!data) return problem ? <ErrorMessage problem={problem} retry={reload} /> : <Loading rows={8} />
  return (
    <>
      {data.account && (
        <p>
          Account <a href={`/operator/accounts/${data.account.id}`}>{data.account.email}</a>
        </p>
      )}
      <ErrorNote call={data.call} />
      <Trail story={data} />
      <Facts call={data.call} />
      {data.call.resultUrl && (
        <details>
          <summary>Result</summary>
          <Media url={data.call.resultUrl} modality={data.call.modality} />
        </details>
      )}
    </>
  )
}

export function MailsSection() {
  const mails = useLoad('dead mails', getDeadMails)
  const { problem, run } = useSubmit()
  const retry = (mail: MailRecord): void =>
    run(async () => {
      await retryMail(mail.id)
      mails.change(({ data }) => ({ data: data.filter(({ id }) => id !== mail.id) }))
    })
  return (
    <section class="panel">
      <h2>Undelivered e-mails</h2>
      <ErrorMessage problem={mails.problem ?? problem} retry={mails.reload} />
      <List of={mails} empty={<Empty title="None">Every e-mail was delivered or is still being retried.</Empty>}>
        {(items) => <MailTable mails={items} retry={retry} />}
      </List>
    </section>
  )
}

const MAIL_COLUMNS: Column<MailRecord>[] = [
  { header: 'Requested', cell: (mail) => <Time iso={mail.createdAt} /> },
  { header: 'Kind', cell: (mail) => mail.kind },
  { header: 'To', cell: (mail) => mail.recipient },
  { header: 'Tries', right: true, class: 'digits', cell: (mail) => number(mail.tries) },
  { header: 'Last error', class: 'wrap', cell: (mail) => mail.note },
]

function MailTable({ mails, retry }: { mails: MailRecord[]; retry: (mail: MailRecord) => void }) {
  const retrying: Column<MailRecord> = {
    header: 'Retry',
    hidden: true,
    right: true,
    cell: (mail) => (
      <Action
        class="small"
        busy={false}
        aria-label={`Retry the e-mail to ${mail.recipient}`}
        onClick={() => retry(mail)}
      >
        Retry
      </Action>
    ),
  }
  return <Table label="Mails" columns={[...MAIL_COLUMNS, retrying]} rows={mails} keyOf={(mail) => mail.id} />
}

export function UpstreamsSection() {
  const upstreams = useLoad('upstreams', getUpstreams)
  return (
    <section class="panel">
      <h2>
        Last hour{' '}
        <button type="button" class="small quiet more" onClick={upstreams.reload}>
          Refresh
        </button>
      </h2>
      <List of={upstreams} empty={<Empty title="No call ended in the last hour" />}>
        {(items) => <UpstreamTable upstreams={items} />}
      </List>
    </section>
  )
}

const UPSTREAM_COLUMNS: Column<UpstreamReport>[] = [
  { header: 'Upstream', cell: ({ upstream }) => upstream },
  { header: 'Calls', right: true, class: 'digits', cell: ({ calls }) => number(calls) },
  { header: 'Failed', right: true, class: 'digits', cell: ({ calls, failed }) => share(failed, calls) },
  {
    header: 'Median',
    right: true,
    class: 'digits',
    cell: ({ latencyMs }) => (latencyMs === null ? '' : duration(latencyMs)),
  },
  { header: 'Last call', cell: ({ lastCallAt }) => <Time iso={lastCallAt} /> },
]

const UpstreamTable = ({ upstreams }: { upstreams: UpstreamReport[] }) => (
  <Table label="Upstreams" columns={UPSTREAM_COLUMNS} rows={upstreams} keyOf={({ upstream }) => upstream} />
)

export function ActionsSection() {
  const actions = useLoad('actions', getActions)
  return (
    <section class="panel">
      <h2>Operator actions</h2>
      <List
        of={actions}
        empty={
          <Empty title="No actions yet">Grants, suspensions and other changes are recorded here permanently.</Empty>
        }
      >
        {(items) => <ActionTable actions={items} />}
      </List>
    </section>
  )
}

const ACTION_WORDS: Record<OperatorAction['action'], string> = {
  credits_granted: 'Granted credits',
  account_suspended: 'Suspended',
  account_activated: 'Activated',
  role_changed: 'Changed the role',
  mail_revived: 'Retried an e-mail',
  catalogue_applied: 'Applied a catalogue',
  catalogue_rolled_back: 'Rolled the catalogue back',
  account_created: 'Created',
  account_deleted: 'Deleted',
  account_exported: 'Exported',
  password_reset_sent: 'Sent a password reset',
  sessions_revoked: 'Ended sessions',
  key_limited: 'Changed a key',
  key_rotated: 'Rotated a key',
  key_revoked: 'Revoked a key',
  payment_refunded: 'Refunded a payment',
  payment_resolved: 'Ended a review',
  code_created: 'Created a code',
  code_disabled: 'Disabled a code',
  debt_forgiven: 'Forgave a debt',
}

const detailText = ({ details }: OperatorAction): string =>
  Object.entries(details)
    .filter(([name, value]) => value !== null && name !== 'grantId')
    .map(([name, value]) => `${name}: ${typeof value === 'number' ? number(value) : value}`)
    .join(' · ')

const ACTION_COLUMNS: Column<OperatorAction>[] = [
  { header: 'Time', cell: (action) => <Time iso={action.createdAt} /> },
  { header: 'Who', cell: (action) => action.operatorEmail ?? 'command line' },
  { header: 'What', cell: (action) => ACTION_WORDS[action.action] },
  {
    header: 'Account',
    cell: (action) => action.accountId && <a href={`/operator/accounts/${action.accountId}`}>{action.accountEmail}</a>,
  },
  { header: 'Details', class: 'wrap', cell: detailText },
]

export const ActionTable = ({ actions }: { actions: OperatorAction[] }) => (
  <Table label="Audit" columns={ACTION_COLUMNS} rows={actions} keyOf={(action) => action.id} />
)
