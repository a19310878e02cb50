/**
 * The audit log: what operators did, whom it was about, and who read.
 */
import { useLocation } from 'preact-iso'
import { t } from '../../language/language.ts'
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
import { BY_TIME, Table } from '../../parts/table.tsx'
import { TimeRange } from '../../parts/time-range.tsx'
import { useLoad } from '../../state/load.ts'

const words = t.records

const PATH = '/operator/actions'

const FILTERS = ['action', 'operator', 'account', 'from', 'to'] as const

export function ActionsSection({ query }: { query: Record<string, string> }) {
  const { route } = useLocation()
  const filters = Object.fromEntries(FILTERS.map((name) => [name, query[name]]))
  const { sort, cursor } = query
  const actions = useLoad(`actions ${JSON.stringify([filters, sort, cursor])}`, () =>
    getActions({ ...filters, sort, cursor }),
  )
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
        <h2>{words.done}</h2>
        <Download path={withQuery('/api/operator/exports/actions', filters)} name="tollgate-actions.csv" />
      </div>
      <Collapsible name={t.calls.list.filters} open={filtered}>
        <section class="filters" aria-label={t.calls.list.filters}>
          <Choice label={words.what} options={ACTION_CHOICES} {...given('action')} />
          <Field label={words.operator} placeholder={words.address} title={words.operatorHint} {...given('operator')} />
          <Field label={t.words.fields.account} placeholder={t.operator.addressOrId} {...given('account')} />
          <TimeRange query={query} set={(range) => route(withFields(PATH, query, { ...range, cursor: undefined }))} />
          {filtered && <ClearFilters href={PATH} />}
        </section>
      </Collapsible>
      <List
        of={actions}
        empty={filtered ? <Empty title={words.noActions} /> : <Empty title={words.noneYet}>{words.aboutActions}</Empty>}
      >
        {(items) => <ActionTable actions={items} />}
      </List>
      <Pager path={PATH} query={query} next={next} />
    </section>
  )
}

const ACTION_CHOICES = [['', words.everything], ...Object.entries(words.actions)] as (readonly [string, string])[]

/** Ids of what has no page. */
const UNTOLD = new Set(['grantId', 'deductionId', 'bannerId'])

/** The name of a detail in words: "expires at", "key". */
const wordsOf = (name: string): string =>
  words.names[name] ?? name.replace(/Id$/, '').replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)

/** What was done; a view of a list is none of one account. */
function whatText({ action, details }: OperatorAction): string {
  const { list } = details
  if (action !== 'account_viewed' || typeof list !== 'string') return words.actions[action]
  return words.viewed(words.lists[list] ?? words.aList(list.replace('/api/operator/', '')))
}

const detailText = ({ details }: OperatorAction): string =>
  Object.entries(details)
    .filter(([name, value]) => value !== null && value !== 0 && name !== 'list' && !UNTOLD.has(name))
    .map(([name, value]) =>
      words.detail(
        wordsOf(name),
        typeof value === 'number' ? number(value) : (words.values[String(value)] ?? String(value)),
      ),
    )
    .join(' · ')

const ACTION_COLUMNS: Column<OperatorAction>[] = [
  { header: t.words.fields.time, orders: BY_TIME, cell: (action) => <Time iso={action.createdAt} /> },
  { header: words.who, cell: (action) => action.operatorEmail ?? words.commandLine },
  { header: words.what, cell: whatText },
  {
    header: t.words.fields.account,
    cell: (action) =>
      action.accountId && (
        <AccountLink id={action.accountId} email={action.accountEmail ?? ''} name={action.accountName} />
      ),
  },
  { header: words.details, class: 'wrap', cell: detailText },
]

const COLUMNS_OF_ONE = ACTION_COLUMNS.filter(({ header }) => header !== t.words.fields.account).map(
  ({ orders: _orders, ...column }) => column,
)

/** @param ofOne all of them are about one account, which is shown above them */
export const ActionTable = ({ actions, ofOne = false }: { actions: OperatorAction[]; ofOne?: boolean }) => (
  <Table
    label={words.audit}
    broad
    columns={ofOne ? COLUMNS_OF_ONE : ACTION_COLUMNS}
    rows={actions}
    keyOf={(action) => action.id}
  />
)
