/**
 * The first page: what there is to spend, what was spent, and how it goes.
 */
import { useEffect, useMemo } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { t } from '../language/language.ts'
import type { ApiKey, CallRecord, Page as ListPage, UsageRow } from '../api/endpoints.ts'
import { getCalls, getHourUsage, getKeys, getLatency, getUsage } from '../api/endpoints.ts'
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
import type { Range, RangeName } from '../state/overview-range.ts'
import { LATEST, RANGES, barOf, callsOfBar, daysOf, rangeNameOf, rangeOf } from '../state/overview-range.ts'
import { Running, Unverified } from './overview-notices.tsx'
import type { By } from './overview-tables.tsx'
import { EachBar, Totals } from './overview-tables.tsx'
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

const words = t.overview

const MEASURE_WORDS: Record<Measure, string> = words.measures

/** What usage can be divided by: by member where others are seen. */
const dividers = (): By[] => (seesOthers() ? ['model', 'key', 'member'] : ['model', 'key'])

/** In the order of the ranges: of the table's keys, the numbers would be first. */
const RANGE_WORDS = (Object.keys(RANGES) as RangeName[]).map((name) => [name, words.ranges[name]] as const)

/** Usage by model, of the hours or days of a range and of the time before it, with its bar in place of the day. */
const usageOf = async ({ unit, from, to }: Range, keyId: string): Promise<{ data: UsageRow[] }> => {
  if (unit !== 'hour') return getUsage({ from, to, keyId })
  const { data } = await getHourUsage({ from, to, keyId })
  return { data: data.map(({ hour, ...row }) => ({ ...row, day: hour })) }
}

export function OverviewPage({ query }: PageProps) {
  const name = rangeNameOf(query)
  const range = useMemo(() => rangeOf(name), [name])
  const days = daysOf(range)
  const keyId = query.keyId ?? ''
  const all = useLoad(`usage ${name} ${keyId}`, () => usageOf(range, keyId))
  const { usage, before } = useMemo(() => divideByTime(all, range), [all.data, all.problem, range])
  const calls = useLoad('latest calls', () => getCalls({ limit: String(LATEST) }))
  const keys = useLoad('keys', getKeys).data?.data
  const latency = useLoad(`latency ${name} ${keyId}`, () => getLatency({ ...days, keyId }))
  const by = keyId === '' && range.unit !== 'hour' ? (dividers().find((one) => one === query.by) ?? 'model') : 'model'
  const divided: Record<By, Divided> = {
    model: useByModel(usage, latency.data),
    key: useByKey(by === 'key', range, keys, latency.data),
    member: useByMember(by === 'member', range),
  }
  useChanges([all, latency, divided.key.usage, divided.member.usage], calls)
  return (
    <Page
      title={t.frame.page.overview}
      aside={
        <span class="row">
          <OfKey keys={keys ?? []} query={query} />
          <Choose label={words.days} words={RANGE_WORDS} value={name} name="days" query={query} />
        </span>
      }
    >
      <Unverified />
      <Running usage={range.unit === 'day' ? usage.data?.data : undefined} />
      <FirstSteps latest={calls.data?.data} />
      <Tiles usage={usage.data?.data} before={before} latency={latency.data} words={words.ranges[name]} />
      <Usage divided={divided[by]} by={by} range={range} query={query} />
      <section class="panel">
        <h2>
          {words.latest}{' '}
          <a class="more" href="/calls">
            {words.allCalls}
          </a>
        </h2>
        <List of={calls} rows={LATEST} empty={<Empty title={words.none}>{words.firstCall(toPlayground)}</Empty>}>
          {(items) => <CallTable calls={items} href={(id) => `/calls/${id}`} />}
        </List>
      </section>
    </Page>
  )
}

/** The usage of a range, and of the time before it: undefined where that is not known. */
function divideByTime(
  all: Loaded<{ data: UsageRow[] }>,
  { unit, bars, before }: Range,
): { usage: Loaded<{ data: UsageRow[] }>; before: UsageRow[] | undefined } {
  const rows = all.data?.data.map((row) => ({ ...row, day: barOf(unit, row.day) }))
  const within = (wanted: readonly string[]): UsageRow[] | undefined => {
    const known = new Set(wanted)
    return rows?.filter(({ day }) => known.has(day))
  }
  const data = within(bars)
  return {
    usage: { ...all, data: data && { data } },
    before: before.length === 0 ? undefined : within(before),
  }
}

type UsageProps = { divided: Divided; by: By; range: Range; query: Record<string, string> }

/** The chart of a range, and its numbers. */
function Usage({ divided: { usage, rows, latencyOf, fieldOf }, by, range, query }: UsageProps) {
  const { route } = useLocation()
  const callsOf = (name: string): string =>
    withFields('/calls', { keyId: query.keyId ?? '', ...daysOf(range) }, fieldOf(name))
  const measure = (Object.keys(MEASURE_WORDS) as Measure[]).find((one) => one === query.show) ?? 'credits'
  return (
    <section class="panel">
      <div class="row between">
        <h2>{words.titleOf(words.titles[measure], words.units[range.unit])}</h2>
        <span class="row">
          <Choose label={words.show} words={Object.entries(MEASURE_WORDS)} value={measure} name="show" query={query} />
          {by === 'member' && (
            <Download path={withQuery('/api/exports/members', daysOf(range))} name="tollgate-members.csv" />
          )}
          {!query.keyId && range.unit !== 'hour' && (
            <Choose
              label={words.groupBy}
              words={dividers().map((one) => [one, words.by[one]])}
              value={by}
              name="by"
              query={query}
            />
          )}
        </span>
      </div>
      <ErrorMessage problem={usage.problem} retry={usage.reload} />
      <UsageChart
        title={words.ranges[range.name]}
        usage={rows}
        days={range.bars}
        measure={measure}
        others={words.others[by]}
        choose={(bar) => route(withFields('/calls', { keyId: query.keyId ?? '' }, callsOfBar(range.unit, bar)))}
      />
      {rows && rows.length > 0 && (
        <>
          <Totals rows={rows} by={by} latencyOf={latencyOf} callsOf={callsOf} />
          <EachBar rows={rows} by={by} unit={range.unit} />
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
  words: readonly (readonly [string, string])[]
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
      {words.map(([one, word]) => (
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
  const choices = [['', words.allKeys] as const, ...keys.map((key) => [key.id, labelOf(key)] as const)]
  return <Choose label={words.dividers.key} words={choices} value={query.keyId ?? ''} name="keyId" query={query} />
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

const toPlayground = (name: string) => <a href="/playground">{name}</a>

/** Leads to the mails where they stay on this machine, else to the notice that sends the mail again. */
const VerifyStep = () => <a href={account.value?.localMails ? '/dev/mail' : '#verify'}>{words.steps.verify}</a>

function Steps() {
  const keys = useLoad('keys', getKeys)
  const hasKey = keys.data?.data.some((key) => key.revokedAt === null) ?? false
  const steps = [
    [account.value?.user.emailVerified ?? false, <VerifyStep />],
    [hasKey, <a href="/keys">{words.steps.key}</a>],
    [(account.value?.credits ?? 0) > 0, <GetCredits />],
    [false, words.steps.call(toPlayground)],
  ] as const
  return (
    <section class="panel">
      <h2>{words.steps.title}</h2>
      <ol class="steps">
        {steps.map(([done, step], index) => (
          <li key={index} class={done ? 'done' : ''}>
            {step}
            {done && <small class="soft">{words.steps.done}</small>}
          </li>
        ))}
      </ol>
    </section>
  )
}
