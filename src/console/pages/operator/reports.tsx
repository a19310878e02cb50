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

function MailTable({ mails, retry }: { mails: MailRecord[]; retry: (mail: MailRecord) => void }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Mails">
      <table>
        <thead>
          <tr>
            <th scope="col">Requested</th>
            <th scope="col">Kind</th>
            <th scope="col">To</th>
            <th scope="col" class="right">
              Tries
            </th>
            <th scope="col">Last error</th>
            <th scope="col">
              <span class="hidden">Retry</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {mails.map((mail) => (
            <tr key={mail.id}>
              <td>
                <Time iso={mail.createdAt} />
              </td>
              <td>{mail.kind}</td>
              <td>{mail.recipient}</td>
              <td class="right digits">{number(mail.tries)}</td>
              <td class="wrap">{mail.note}</td>
              <td class="right">
                <Action
                  class="small"
                  busy={false}
                  aria-label={`Retry the e-mail to ${mail.recipient}`}
                  onClick={() => retry(mail)}
                >
                  Retry
                </Action>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
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

function UpstreamTable({ upstreams }: { upstreams: UpstreamReport[] }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Upstreams">
      <table>
        <thead>
          <tr>
            <th scope="col">Upstream</th>
            <th scope="col" class="right">
              Calls
            </th>
            <th scope="col" class="right">
              Failed
            </th>
            <th scope="col" class="right">
              Median
            </th>
            <th scope="col">Last call</th>
          </tr>
        </thead>
        <tbody>
          {upstreams.map(({ upstream, calls, failed, latencyMs, lastCallAt }) => (
            <tr key={upstream}>
              <td>{upstream}</td>
              <td class="right digits">{number(calls)}</td>
              <td class="right digits">{share(failed, calls)}</td>
              <td class="right digits">{latencyMs === null ? '' : duration(latencyMs)}</td>
              <td>
                <Time iso={lastCallAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

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
}

const detailText = ({ details }: OperatorAction): string =>
  Object.entries(details)
    .filter(([name, value]) => value !== null && name !== 'grantId')
    .map(([name, value]) => `${name}: ${typeof value === 'number' ? number(value) : value}`)
    .join(' · ')

export function ActionTable({ actions }: { actions: OperatorAction[] }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Audit">
      <table>
        <thead>
          <tr>
            <th scope="col">Time</th>
            <th scope="col">Who</th>
            <th scope="col">What</th>
            <th scope="col">Account</th>
            <th scope="col">Details</th>
          </tr>
        </thead>
        <tbody>
          {actions.map((action) => (
            <tr key={action.id}>
              <td>
                <Time iso={action.createdAt} />
              </td>
              <td>{action.operatorEmail ?? 'command line'}</td>
              <td>{ACTION_WORDS[action.action]}</td>
              <td>
                {action.accountId && <a href={`/operator/accounts/${action.accountId}`}>{action.accountEmail}</a>}
              </td>
              <td class="wrap">{detailText(action)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
