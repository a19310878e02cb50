/**
 * The calls of everybody, with filters in the address, and the drawer of one.
 */
import { useLocation } from 'preact-iso'
import { t } from '../../language/language.ts'
import { DIALECT_WORDS } from '../../api/call-forms.ts'
import type { AnyCall, AnyCallQuery } from '../../api/operator.ts'
import { getAnyCall, getAnyCalls, getUpstreams } from '../../api/operator.ts'
import { getModels } from '../../api/endpoints.ts'
import { AccountLink, Empty, Time } from '../../parts/basics.tsx'
import { AllMedia, ErrorNote, Facts, Trail } from '../../parts/call-details.tsx'
import { CallDialog } from '../../parts/call-dialog.tsx'
import { CREDITS, MODEL, STATUS, TOOK } from '../../parts/call-table.tsx'
import { ClearFilters, Collapsible } from '../../parts/collapsible.tsx'
import { MODALITY_CHOICES } from '../../parts/format.ts'
import { Receipt } from '../../parts/receipt.tsx'
import { Choice, Field, fieldsOf } from '../../parts/forms.tsx'
import { List, Pager } from '../../parts/list.tsx'
import { leave, withFields } from '../../parts/route.ts'
import type { Column } from '../../parts/table.tsx'
import { Table } from '../../parts/table.tsx'
import { TimeRange } from '../../parts/time-range.tsx'
import { useLoad } from '../../state/load.ts'
import { Attempts } from './attempts.tsx'

const PATH = '/operator/calls'

const FILTERS = [
  'status',
  'modality',
  'dialect',
  'model',
  'upstream',
  'account',
  'keyId',
  'errorType',
  'from',
  'to',
] as const

type Props = { id: string | undefined; query: Record<string, string> }

export function CallsSection({ id, query }: Props) {
  const { route } = useLocation()
  const filters: AnyCallQuery = Object.fromEntries(FILTERS.map((name) => [name, query[name]]))
  const { cursor } = query
  const calls = useLoad(`all calls ${JSON.stringify([filters, cursor])}`, () => getAnyCalls({ ...filters, cursor }))
  const next = calls.data?.nextCursor
  return (
    <>
      <Filters query={query} />
      <section class="panel">
        <List
          of={calls}
          rows={12}
          empty={
            <Empty title={next ? 'No matching calls so far' : 'No matching calls'}>
              {next ? (
                <a href={withFields(PATH, query, { cursor: next })}>Search further back</a>
              ) : (
                <>
                  Change the filters or <a href={PATH}>show all calls</a>.
                </>
              )}
            </Empty>
          }
        >
          {(items) => (
            <Table label="Calls" class="calls" columns={columnsOf(query)} rows={items} keyOf={(call) => call.id} />
          )}
        </List>
        <Pager path={PATH} query={query} next={next} />
      </section>
      {id && <CallDrawer key={id} id={id} close={() => leave(route, withFields(PATH, query, {}))} />}
    </>
  )
}

/** In the order of every table of calls, whose cards on small screens are the same. */
const columnsOf = (query: Record<string, string>): Column<AnyCall>[] => [
  {
    header: 'Time',
    cell: (call) => (
      <a href={withFields(`${PATH}/${call.id}`, query, {})}>
        <Time iso={call.createdAt} />
      </a>
    ),
  },
  MODEL,
  STATUS,
  CREDITS,
  TOOK,
  {
    header: 'Account',
    cell: (call) => <AccountLink id={call.accountId} email={call.accountEmail} name={call.accountName} />,
  },
  { header: 'Upstream', class: 'soft', cell: (call) => call.upstream },
]

const STATUSES = [['', 'Any status'], ...Object.entries(t.words.statuses)] as (readonly [string, string])[]

const DIALECTS = [['', 'Any API'], ...Object.entries(DIALECT_WORDS)] as (readonly [string, string])[]

/** What can be chosen, and what the address asks for even though it cannot be chosen any more. */
const choicesOf = (any: string, names: string[], chosen: string | undefined): (readonly [string, string])[] => [
  ['', any],
  ...[...new Set([...names, ...(chosen ? [chosen] : [])])].map((name) => [name, name] as const),
]

function Filters({ query }: { query: Record<string, string> }) {
  const { route } = useLocation()
  const models = useLoad('models', getModels)
  const upstreams = useLoad('upstreams', getUpstreams)
  const filtered = FILTERS.some((name) => query[name])
  const set = (name: string) => (event: Event) =>
    route(withFields(PATH, query, { [name]: (event.currentTarget as HTMLInputElement).value, cursor: undefined }))
  const given = (name: string) => ({ value: query[name] ?? '', onChange: set(name) })
  const find = (event: Event): void => {
    const call = fieldsOf(event)['call']?.trim()
    if (call) route(withFields(`${PATH}/${encodeURIComponent(call)}`, query, {}))
  }
  return (
    <Collapsible name="Filters" open={filtered}>
      <section class="filters" aria-label="Filters">
        <Choice label="Status" options={STATUSES} {...given('status')} />
        <Choice label="Kind" options={MODALITY_CHOICES} {...given('modality')} />
        <Choice label="API" options={DIALECTS} {...given('dialect')} />
        <Choice
          label="Model"
          options={choicesOf('Any model', models.data?.data.map((model) => model.id) ?? [], query['model'])}
          {...given('model')}
        />
        <Choice
          label="Upstream"
          options={choicesOf('Any upstream', upstreams.data?.data.map((one) => one.upstream) ?? [], query['upstream'])}
          {...given('upstream')}
        />
        <Field label="Account" placeholder="address or ID" {...given('account')} />
        <Field label="Key" placeholder="key_…" {...given('keyId')} />
        <Field label="Error code" placeholder="upstream_failed" {...given('errorType')} />
        <TimeRange query={query} set={(range) => route(withFields(PATH, query, { ...range, cursor: undefined }))} />
        <form class="whole" onSubmit={find}>
          <Field label="Call ID" name="call" placeholder="call_…" />
        </form>
        {filtered && <ClearFilters href={PATH} />}
      </section>
    </Collapsible>
  )
}

function CallDrawer({ id, close }: { id: string; close: () => void }) {
  const details = useLoad(`any call ${id}`, () => getAnyCall(id))
  return (
    <CallDialog id={id} of={details} missing="There is no such call." close={close}>
      {(data) => (
        <>
          {data.account && (
            <p>
              Account <AccountLink id={data.account.id} email={data.account.email} name={data.account.name} />
            </p>
          )}
          <ErrorNote call={data.call} />
          <Trail details={data} />
          <Attempts attempts={data.attempts} />
          <Receipt details={data} />
          <Facts call={data.call} />
          <p>
            <a href={withFields(PATH, {}, { keyId: data.call.keyId })}>Calls of its key</a>
          </p>
          {data.call.resultUrl && (
            <details>
              <summary>Result</summary>
              <AllMedia urls={data.call.resultUrls} modality={data.call.modality} />
            </details>
          )}
        </>
      )}
    </CallDialog>
  )
}
