/**
 * The audit log: what operators did, whom it was about, and who read.
 */
import { useLocation } from 'preact-iso'
import { withQuery } from '../../api/requests.ts'
import type { OperatorAction } from '../../api/operator.ts'
import { getActions } from '../../api/operator.ts'
import { AccountLink, Empty, Time } from '../../parts/basics.tsx'
import { Download } from '../../parts/download.tsx'
import { ClearFilters, Collapsible } from '../../parts/collapsible.tsx'
import { number } from '../../parts/format.ts'
import { Choice, Field } from '../../parts/forms.tsx'
import { List, Pager } from '../../parts/list.tsx'
import { withFields } from '../../parts/route.ts'
import type { Column } from '../../parts/table.tsx'
import { Table } from '../../parts/table.tsx'
import { TimeRange } from '../../parts/time-range.tsx'
import { useLoad } from '../../state/load.ts'

const PATH = '/operator/actions'

const FILTERS = ['action', 'operator', 'account', 'from', 'to'] as const

export function ActionsSection({ query }: { query: Record<string, string> }) {
  const { route } = useLocation()
  const filters = Object.fromEntries(FILTERS.map((name) => [name, query[name]]))
  const { cursor } = query
  const actions = useLoad(`actions ${JSON.stringify([filters, cursor])}`, () => getActions({ ...filters, cursor }))
  const filtered = FILTERS.some((name) => query[name])
  const given = (name: string) => ({
    value: query[name] ?? '',
    onChange: (event: Event) =>
      route(withFields(PATH, query, { [name]: (event.currentTarget as HTMLInputElement).value, cursor: undefined })),
  })
  const next = actions.data?.nextCursor
  return (
    <section class="panel">
      <div class="row between head">
        <h2>What operators did</h2>
        <Download path={withQuery('/api/operator/exports/actions', filters)} name="tollgate-actions.csv" />
      </div>
      <Collapsible name="Filters" open={filtered}>
        <section class="filters" aria-label="Filters">
          <Choice label="What" options={ACTION_CHOICES} {...given('action')} />
          <Field label="Operator" placeholder="address" title="An address, or: command line" {...given('operator')} />
          <Field label="Account" placeholder="address or ID" {...given('account')} />
          <TimeRange query={query} set={(range) => route(withFields(PATH, query, { ...range, cursor: undefined }))} />
          {filtered && <ClearFilters href={PATH} />}
        </section>
      </Collapsible>
      <List
        of={actions}
        empty={
          filtered ? (
            <Empty title="No matching actions" />
          ) : (
            <Empty title="No actions yet">Grants, suspensions and other changes are recorded here permanently.</Empty>
          )
        }
      >
        {(items) => <ActionTable actions={items} />}
      </List>
      <Pager path={PATH} query={query} next={next} />
    </section>
  )
}

const ACTION_WORDS: Record<OperatorAction['action'], string> = {
  credits_granted: 'Granted credits',
  credits_deducted: 'Deducted credits',
  account_viewed: 'Viewed an account',
  mail_discarded: 'Discarded an e-mail',
  actions_exported: 'Exported the log',
  banner_set: 'Set a banner',
  banner_removed: 'Removed the banner',
  account_suspended: 'Suspended',
  account_activated: 'Activated',
  account_limited: 'Changed limits',
  role_changed: 'Changed the role',
  account_grouped: 'Changed the group',
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
  webhook_created: 'Created a webhook',
  webhook_changed: 'Disabled or enabled a webhook',
  webhook_rotated: 'Rotated a webhook',
  webhook_removed: 'Removed a webhook',
  upstream_key_disabled: 'Disabled a key of an upstream',
  upstream_key_enabled: 'Enabled a key of an upstream',
  upstream_key_tested: 'Tested a key of an upstream',
  totp_added: 'Added their authenticator app',
  totp_removed: 'Removed their authenticator app',
  recovery_code_used: 'Signed in by a recovery code',
  second_factor_reset: 'Removed a second factor',
  passkey_added: 'Added a passkey',
  passkey_removed: 'Removed a passkey',
  passkey_refused: 'Used a passkey that seems to be a copy',
  identity_linked: 'Connected an account at a provider',
  identity_removed: 'Disconnected an account at a provider',
  login_link_made: 'Made a link that signs in',
}

const ACTION_CHOICES = [['', 'Everything'], ...Object.entries(ACTION_WORDS)] as (readonly [string, string])[]

/** Ids of what has no page. */
const UNTOLD = new Set(['grantId', 'deductionId', 'bannerId'])

/** The name of a detail in words: "expires at", "key". */
const wordsOf = (name: string): string =>
  name.replace(/Id$/, '').replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)

/** What the lists show that operators view, by their paths. */
const LISTS: Record<string, string> = {
  '/api/operator/accounts': 'accounts',
  '/api/operator/calls': 'calls',
  '/api/operator/payments': 'payments',
  '/api/operator/debts': 'debts',
  '/api/operator/mails': 'undelivered e-mails',
  '/api/operator/codes': 'codes',
  '/api/operator/actions': 'the audit log',
  '/api/operator/overview': 'the home page',
}

/** What was done; a view of a list is none of one account. */
function whatText({ action, details }: OperatorAction): string {
  const { list } = details
  if (action !== 'account_viewed' || typeof list !== 'string') return ACTION_WORDS[action]
  return `Viewed ${LISTS[list] ?? `a list (${list.replace('/api/operator/', '')})`}`
}

const detailText = ({ details }: OperatorAction): string =>
  Object.entries(details)
    .filter(([name, value]) => value !== null && value !== 0 && name !== 'list' && !UNTOLD.has(name))
    .map(([name, value]) => `${wordsOf(name)}: ${typeof value === 'number' ? number(value) : value}`)
    .join(' · ')

const ACTION_COLUMNS: Column<OperatorAction>[] = [
  { header: 'Time', cell: (action) => <Time iso={action.createdAt} /> },
  { header: 'Who', cell: (action) => action.operatorEmail ?? 'command line' },
  { header: 'What', cell: whatText },
  {
    header: 'Account',
    cell: (action) =>
      action.accountId && (
        <AccountLink id={action.accountId} email={action.accountEmail ?? ''} name={action.accountName} />
      ),
  },
  { header: 'Details', class: 'wrap', cell: detailText },
]

const COLUMNS_OF_ONE = ACTION_COLUMNS.filter(({ header }) => header !== 'Account')

/** @param ofOne all of them are about one account, which is shown above them */
export const ActionTable = ({ actions, ofOne = false }: { actions: OperatorAction[]; ofOne?: boolean }) => (
  <Table
    label="Audit"
    broad
    columns={ofOne ? COLUMNS_OF_ONE : ACTION_COLUMNS}
    rows={actions}
    keyOf={(action) => action.id}
  />
)
