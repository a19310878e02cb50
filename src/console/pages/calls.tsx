/**
 * Every call, with filters in the address, and the drawer of one.
 */
import { useEffect, useMemo } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { t } from '../language/language.ts'
import type { CallQuery, CallRecord } from '../api/endpoints.ts'
import { withQuery } from '../api/requests.ts'
import { getCalls, getKeys, getModels } from '../api/endpoints.ts'
import { Empty, Page } from '../parts/basics.tsx'
import { CallTable } from '../parts/call-table.tsx'
import { Download } from '../parts/download.tsx'
import { ClearFilters, Collapsible } from '../parts/collapsible.tsx'
import { Choice } from '../parts/forms.tsx'
import { List, Pager } from '../parts/list.tsx'
import type { PageProps } from '../parts/route.ts'
import { leave, withFields } from '../parts/route.ts'
import { TimeRange } from '../parts/time-range.tsx'
import { onCall, onRefresh } from '../state/account.ts'
import { useLoad } from '../state/load.ts'
import { memberName, useMembers } from '../state/members.ts'
import { endMs, startMs } from '../state/zone.ts'
import { CallDrawer } from './call-drawer.tsx'
import { mixIn } from './overview.tsx'

const words = t.calls.list
const columns = t.overview.calls

const PAGE = 50

const FILTERS = ['model', 'modality', 'dialect', 'status', 'keyId', 'memberId', 'from', 'to'] as const

const STATUSES = [['', words.anyStatus], ...Object.entries(t.words.statuses)] as (readonly [string, string])[]

/** Whether a call that just came belongs on the first page of this list. */
const belongs = (
  call: CallRecord,
  { model, modality, dialect, status, keyId, memberId, from, to }: CallQuery,
): boolean =>
  (!model || call.model === model) &&
  (!modality || call.modality === modality) &&
  (!dialect || call.dialect === dialect) &&
  (!status || call.status === status) &&
  (!keyId || call.keyId === keyId) &&
  (!memberId || call.memberId === memberId) &&
  (!from || Date.parse(call.createdAt) >= startMs(from)) &&
  (!to || Date.parse(call.createdAt) <= endMs(to))

export function CallsPage({ params, query }: PageProps) {
  const { route } = useLocation()
  const filters: CallQuery = Object.fromEntries(FILTERS.map((name) => [name, query[name]]))
  const search = new URLSearchParams(
    withFields('', {}, { ...filters, sort: query.sort, cursor: query.cursor }).slice(1),
  ).toString()
  const calls = useLoad(`calls ${search}`, () =>
    getCalls({ ...filters, sort: query.sort, cursor: query.cursor, limit: String(PAGE) }),
  )
  const keys = useLoad('keys', getKeys)
  const keyNames = useMemo(() => new Map((keys.data?.data ?? []).map((key) => [key.id, key.name])), [keys.data])
  useEffect(() => {
    if (query.cursor || query.sort === 'oldest') return undefined
    const offCall = onCall((call) =>
      calls.change((page) => ({
        ...page,
        data:
          page.data.some(({ id }) => id === call.id) || belongs(call, filters)
            ? mixIn(page.data, call, PAGE)
            : page.data,
      })),
    )
    const offRefresh = onRefresh(calls.reload)
    return () => {
      offCall()
      offRefresh()
    }
  }, [search, calls.change, calls.reload])
  const filtered = FILTERS.some((name) => query[name])
  const set = (changes: Record<string, string>): void =>
    route(withFields('/calls', query, { ...changes, cursor: undefined }))
  return (
    <Page
      title={t.frame.page.calls}
      aside={<Download path={withQuery('/api/exports/calls', filters)} name="tollgate-calls.csv" />}
    >
      <Filters query={query} keyNames={keyNames} set={set} />
      <section class="panel" aria-live="off">
        <List of={calls} rows={12} empty={<Nothing filtered={filtered || query.cursor !== undefined} />}>
          {(items) => (
            <CallTable calls={items} keyNames={keyNames} href={(id) => withFields(`/calls/${id}`, query, {})} />
          )}
        </List>
        <Pager path="/calls" query={query} next={calls.data?.nextCursor} />
      </section>
      {params.id && (
        <CallDrawer id={params.id} keyNames={keyNames} close={() => leave(route, withFields('/calls', query, {}))} />
      )}
    </Page>
  )
}

const Nothing = ({ filtered }: { filtered: boolean }) =>
  filtered ? (
    <Empty title={words.noMatch}>
      {words.change((name) => (
        <a href="/calls">{name}</a>
      ))}
    </Empty>
  ) : (
    <Empty title={t.overview.none}>
      {words.makeOne((name) => (
        <a href="/playground">{name}</a>
      ))}
    </Empty>
  )

type FilterProps = {
  query: Record<string, string>
  keyNames: Map<string, string>
  set: (changes: Record<string, string>) => void
}

function Filters({ query, keyNames, set }: FilterProps) {
  const filtered = FILTERS.some((name) => query[name])
  const models = useLoad('models', getModels)
  const members = new Map(useMembers()?.map((one) => [one.id, memberName(one)]))
  if (query['memberId'] && !members.has(query['memberId'])) members.set(query['memberId'], words.formerMember)
  // A model that is no longer offered can still be asked for by a link.
  const ids = new Set([...(models.data?.data ?? []).map(({ id }) => id), ...(query.model ? [query.model] : [])])
  const choice = (name: string) => ({
    value: query[name] ?? '',
    onChange: (event: Event) => set({ [name]: (event.currentTarget as HTMLSelectElement).value }),
  })
  return (
    <Collapsible name={words.filters} open={filtered}>
      <section class="filters" aria-label={words.filters}>
        <Choice label={t.words.fields.status} options={STATUSES} {...choice('status')} />
        <Choice
          label={columns.model}
          options={[['', words.anyModel], ...[...ids].map((id) => [id, id] as const)]}
          {...choice('model')}
        />
        <Choice
          label={columns.key}
          options={[['', words.anyKey], ...[...keyNames].map(([id, name]) => [id, name] as const)]}
          {...choice('keyId')}
        />
        {members.size > 0 && (
          <Choice label={words.member} options={[['', words.anyMember], ...members]} {...choice('memberId')} />
        )}
        <TimeRange query={query} set={set} />
        {filtered && <ClearFilters href="/calls" />}
      </section>
    </Collapsible>
  )
}
