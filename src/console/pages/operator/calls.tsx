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
import { BY_TIME, Table } from '../../parts/table.tsx'
import { TimeRange } from '../../parts/time-range.tsx'
import { useLoad } from '../../state/load.ts'
import { Attempts } from './attempts.tsx'

const words = t.operator

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
  const { sort, cursor } = query
  const calls = useLoad(`all calls ${JSON.stringify([filters, sort, cursor])}`, () =>
    getAnyCalls({ ...filters, sort, cursor }),
  )
  const next = calls.data?.nextCursor
  return (
    <>
      <Filters query={query} />
      <section class="panel">
        <List
          of={calls}
          rows={12}
          empty={
            <Empty title={next ? words.soFar : t.calls.list.noMatch}>
              {next ? (
                <a href={withFields(PATH, query, { cursor: next })}>{words.further}</a>
              ) : (
                t.calls.list.change((all) => <a href={PATH}>{all}</a>)
              )}
            </Empty>
          }
        >
          {(items) => (
            <Table
              label={t.frame.page.calls}
              class="calls"
              columns={columnsOf(query)}
              rows={items}
              keyOf={(call) => call.id}
            />
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
    header: t.words.fields.time,
    orders: BY_TIME,
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
    header: t.words.fields.account,
    cell: (call) => <AccountLink id={call.accountId} email={call.accountEmail} name={call.accountName} />,
  },
  { header: t.words.fields.upstream, class: 'soft', cell: (call) => call.upstream },
]

const STATUSES = [['', t.calls.list.anyStatus], ...Object.entries(t.words.statuses)] as (readonly [string, string])[]

const DIALECTS = [['', words.anyApi], ...Object.entries(DIALECT_WORDS)] as (readonly [string, string])[]

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
    <Collapsible name={t.calls.list.filters} open={filtered}>
      <section class="filters" aria-label={t.calls.list.filters}>
        <Choice label={t.words.fields.status} options={STATUSES} {...given('status')} />
        <Choice label={t.words.fields.kind} options={MODALITY_CHOICES} {...given('modality')} />
        <Choice label="API" options={DIALECTS} {...given('dialect')} />
        <Choice
          label={t.frame.search.model}
          options={choicesOf(t.calls.list.anyModel, models.data?.data.map((model) => model.id) ?? [], query['model'])}
          {...given('model')}
        />
        <Choice
          label={t.words.fields.upstream}
          options={choicesOf(
            words.anyUpstream,
            upstreams.data?.data.map((one) => one.upstream) ?? [],
            query['upstream'],
          )}
          {...given('upstream')}
        />
        <Field label={t.words.fields.account} placeholder={words.addressOrId} {...given('account')} />
        <Field label={t.frame.search.key} placeholder="key_…" {...given('keyId')} />
        <Field label={words.errorCode} placeholder="upstream_failed" {...given('errorType')} />
        <TimeRange query={query} set={(range) => route(withFields(PATH, query, { ...range, cursor: undefined }))} />
        <form class="whole" onSubmit={find}>
          <Field label={words.callId} name="call" placeholder="call_…" />
        </form>
        {filtered && <ClearFilters href={PATH} />}
      </section>
    </Collapsible>
  )
}

function CallDrawer({ id, close }: { id: string; close: () => void }) {
  const details = useLoad(`any call ${id}`, () => getAnyCall(id))
  return (
    <CallDialog id={id} of={details} missing={words.noCall} close={close}>
      {(data) => (
        <>
          {data.account && (
            <p>
              {words.ofAccount(
                <AccountLink id={data.account.id} email={data.account.email} name={data.account.name} />,
              )}
            </p>
          )}
          <ErrorNote call={data.call} />
          <Trail details={data} />
          <Attempts attempts={data.attempts} />
          <Receipt details={data} />
          <Facts call={data.call} />
          <p>
            <a href={withFields(PATH, {}, { keyId: data.call.keyId })}>{words.callsOfKey}</a>
          </p>
          {data.call.resultUrl && (
            <details>
              <summary>{words.result}</summary>
              <AllMedia urls={data.call.resultUrls} modality={data.call.modality} />
            </details>
          )}
        </>
      )}
    </CallDialog>
  )
}
