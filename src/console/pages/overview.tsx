/**
 * The first page: what there is to spend, what was spent, and how it goes.
 */
import { useEffect, useMemo } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import type { ApiKey, CallRecord, Page as ListPage } from '../api/endpoints.ts'
import { getCalls, getKeys, getLatency, getUsage } from '../api/endpoints.ts'
import { withQuery } from '../api/requests.ts'
import { Download } from '../parts/download.tsx'
import { GetCredits } from '../parts/get-credits.tsx'
import { Empty, Page, ErrorMessage } from '../parts/basics.tsx'
import { CallTable } from '../parts/call-table.tsx'
import type { Measure } from '../parts/chart.tsx'
import { UsageChart } from '../parts/chart.tsx'
import { List } from '../parts/list.tsx'
import type { PageProps } from '../parts/route.ts'
import { withFields } from '../parts/route.ts'
import { account, onCall, onRefresh } from '../state/account.ts'
import type { Loaded } from '../state/load.ts'
import { useLoad } from '../state/load.ts'
import { seesOthers } from '../state/members.ts'
import { daysOf, lastDays, LATEST, RANGES, rangeOf } from '../state/overview-range.ts'
import { Running, Unverified } from './overview-notices.tsx'
import type { By } from './overview-tables.tsx'
import { EachDay, Totals } from './overview-tables.tsx'
import type { Divided } from './overview-usage.ts'
import { labelOf, useByKey, useByMember, useByModel } from './overview-usage.ts'
import { Tiles } from './overview-tiles.tsx'

/** Usage is added up by the server: after a burst of calls it is asked for once, this long after the last, in ms. */
const SETTLE_MS = 800

/** Shows calls as they change, and the usage once they have settled. */
function useChanges(sums: Pick<Loaded<unknown>, 'reload'>[], calls: Loaded<ListPage<CallRecord>>): void {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const addUp = (): void => sums.forEach(({ reload }) => reload())
    const offCall = onCall((call) => {
      calls.change((page) => ({ ...page, data: mixIn(page.data, call, LATEST) }))
      clearTimeout(timer)
      timer = setTimeout(addUp, SETTLE_MS)
    })
    const offRefresh = onRefresh(() => {
      addUp()
      calls.reload()
    })
    return () => {
      clearTimeout(timer)
      offCall()
      offRefresh()
    }
  }, [...sums.map(({ reload }) => reload), calls.reload, calls.change])
}

const MEASURE_WORDS: Record<Measure, string> = {
  credits: 'Credits',
  calls: 'Calls',
  tokens: 'Tokens',
  failed: 'Failures',
}

const MEASURE_TITLES: Record<Measure, string> = {
  credits: 'Credits per day (UTC)',
  calls: 'Calls per day (UTC)',
  tokens: 'Tokens per day (UTC)',
  failed: 'Failed calls per day (UTC)',
}

/** What usage can be divided by: by member where others are seen. */
const dividers = (): By[] => (seesOthers() ? ['model', 'key', 'member'] : ['model', 'key'])

const RANGE_WORDS = Object.fromEntries(RANGES.map((days) => [String(days), `Last ${days} days`]))

const BY_WORDS: Record<By, string> = { model: 'By model', key: 'By key', member: 'By member' }

export function OverviewPage({ query }: PageProps) {
  const count = daysOf(query)
  const days = useMemo(() => lastDays(count), [count])
  const range = rangeOf(query)
  const { keyId } = range
  const usage = useLoad(`usage ${count} ${keyId}`, () => getUsage(range))
  const calls = useLoad('latest calls', () => getCalls({ limit: String(LATEST) }))
  const keys = useLoad('keys', getKeys).data?.data
  const latency = useLoad(`latency ${count} ${keyId}`, () => getLatency(range))
  const by = keyId === '' ? (dividers().find((one) => one === query.by) ?? 'model') : 'model'
  const divided: Record<By, Divided> = {
    model: useByModel(usage, latency.data),
    key: useByKey(by === 'key', days, keys, latency.data),
    member: useByMember(by === 'member', days),
  }
  useChanges([usage, latency, divided.key.usage, divided.member.usage], calls)
  return (
    <Page
      title="Overview"
      aside={
        <span class="row">
          <OfKey keys={keys ?? []} query={query} />
          <Choose label="Days" words={RANGE_WORDS} value={String(count)} name="days" query={query} />
        </span>
      }
    >
      <Unverified />
      <Running usage={usage.data?.data} />
      <FirstSteps latest={calls.data?.data} />
      <Tiles usage={usage.data?.data} latency={latency.data} count={count} />
      <Usage divided={divided[by]} by={by} days={days} query={query} />
      <section class="panel">
        <h2>
          Latest calls{' '}
          <a class="more" href="/calls">
            All calls
          </a>
        </h2>
        <List
          of={calls}
          rows={LATEST}
          empty={
            <Empty title="No calls yet">
              Your first one appears here the moment you make it: try the <a href="/playground">playground</a>.
            </Empty>
          }
        >
          {(items) => <CallTable calls={items} href={(id) => `/calls/${id}`} />}
        </List>
      </section>
    </Page>
  )
}

type UsageProps = { divided: Divided; by: By; days: string[]; query: Record<string, string> }

/** The chart of the days, and its numbers. */
function Usage({ divided: { usage, rows, latencyOf, fieldOf }, by, days, query }: UsageProps) {
  const { route } = useLocation()
  const callsOf = (name: string): string =>
    withFields('/calls', { keyId: query.keyId ?? '', from: days[0]!, to: days.at(-1)! }, fieldOf(name))
  const measure = (Object.keys(MEASURE_WORDS) as Measure[]).find((one) => one === query.show) ?? 'credits'
  return (
    <section class="panel">
      <div class="row between">
        <h2>{MEASURE_TITLES[measure]}</h2>
        <span class="row">
          <Choose label="Show" words={MEASURE_WORDS} value={measure} name="show" query={query} />
          {by === 'member' && (
            <Download
              path={withQuery('/api/exports/members', { from: days[0], to: days.at(-1) })}
              name="tollgate-members.csv"
            />
          )}
          {!query.keyId && (
            <Choose
              label="Group by"
              words={Object.fromEntries(dividers().map((one) => [one, BY_WORDS[one]]))}
              value={by}
              name="by"
              query={query}
            />
          )}
        </span>
      </div>
      <ErrorMessage problem={usage.problem} retry={usage.reload} />
      <UsageChart
        usage={rows}
        days={days}
        measure={measure}
        others={`other ${by}s`}
        choose={(day) => route(withFields('/calls', { keyId: query.keyId ?? '' }, { from: day, to: day }))}
      />
      {rows && rows.length > 0 && (
        <>
          <Totals rows={rows} by={by} latencyOf={latencyOf} callsOf={callsOf} />
          <EachDay rows={rows} by={by} />
        </>
      )}
    </section>
  )
}

/** The list with a call that is new or has changed; the newest first. */
export function mixIn(calls: CallRecord[], call: CallRecord, most: number): CallRecord[] {
  if (calls.some(({ id }) => id === call.id)) return calls.map((one) => (one.id === call.id ? call : one))
  return [call, ...calls].toSorted((a, b) => (a.createdAt < b.createdAt ? 1 : -1)).slice(0, most)
}

type ChooseProps = {
  label: string
  words: Record<string, string>
  value: string
  /** The field of the address that it is. */
  name: string
  query: Record<string, string>
}

/** Chooses a field of the address. */
function Choose({ label, words, value, name, query }: ChooseProps) {
  const { route } = useLocation()
  return (
    <select
      aria-label={label}
      class="small"
      value={value}
      onChange={(event) => route(withFields('/overview', query, { [name]: event.currentTarget.value }), true)}
    >
      {Object.entries(words).map(([one, word]) => (
        <option key={one} value={one}>
          {word}
        </option>
      ))}
    </select>
  )
}

/** Chooses the key whose usage is shown; nothing if there is no choice. */
function OfKey({ keys, query }: { keys: ApiKey[]; query: Record<string, string> }) {
  if (keys.length < 2 && !query.keyId) return null
  const words = { '': 'All keys', ...Object.fromEntries(keys.map((key) => [key.id, labelOf(key)])) }
  return <Choose label="Key" words={words} value={query.keyId ?? ''} name="keyId" query={query} />
}

/** What to do first, until a call has succeeded. @param latest the newest calls, as they change */
function FirstSteps({ latest }: { latest: CallRecord[] | undefined }) {
  if (!latest || latest.some(({ status }) => status === 'succeeded')) return null
  // Fewer than were asked for are all there are.
  return latest.length < LATEST ? <Steps /> : <StepsUnlessOver />
}

/** The first steps, unless a call before the newest ones has succeeded. */
function StepsUnlessOver() {
  const succeeded = useLoad('a call that succeeded', () => getCalls({ status: 'succeeded', limit: '1' }))
  return succeeded.data?.data.length === 0 ? <Steps /> : null
}

function Steps() {
  const keys = useLoad('keys', getKeys)
  const hasKey = keys.data?.data.some((key) => key.revokedAt === null) ?? false
  const steps = [
    [account.value?.user.emailVerified ?? false, <>Verify your address with the link in our e-mail</>],
    [
      hasKey,
      <>
        <a href="/keys">Create an API key</a>
      </>,
    ],
    [(account.value?.credits ?? 0) > 0, <GetCredits />],
    [
      false,
      <>
        Make your first call in the <a href="/playground">playground</a>, or with the curl line there
      </>,
    ],
  ] as const
  return (
    <section class="panel">
      <h2>First steps</h2>
      <ol class="steps">
        {steps.map(([done, step], index) => (
          <li key={index} class={done ? 'done' : ''}>
            {step}
            {done && <small class="soft"> · done</small>}
          </li>
        ))}
      </ol>
    </section>
  )
}
