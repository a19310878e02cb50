/**
 * The numbers at the head of the overview.
 */
import type { ComponentChildren } from 'preact'
import type { AccountLatency, AccountState, UsageRow } from '../api/endpoints.ts'
import { Time } from '../parts/basics.tsx'
import { budgetText } from '../parts/budget.tsx'
import { counted, duration, number, share } from '../parts/format.ts'
import { worth } from '../parts/money.ts'
import { account } from '../state/account.ts'
import { useOwnBudget } from '../state/members.ts'

type TilesProps = {
  usage: UsageRow[] | undefined
  /** Usage of as much time before that; undefined where it is not known. */
  before: UsageRow[] | undefined
  latency: AccountLatency | undefined
  /** The time in words: "Last 30 days". */
  words: string
}

/** The change against the time before, in words; nothing where there is nothing to compare with. */
function changeText(now: number, then: number | undefined): string | null {
  if (!then) return null
  return now === then
    ? 'as much as before'
    : `${share(Math.abs(now - then), then)} ${now > then ? 'more' : 'less'} than before`
}

/** The balance, and what was used in a time, compared with the time before. */
export function Tiles({ usage, before, latency, words }: TilesProps) {
  const sum = (field: 'calls' | 'failed' | 'credits', rows = usage): number =>
    (rows ?? []).reduce((all, row) => all + row[field], 0)
  const change = (field: 'calls' | 'credits'): string | null => changeText(sum(field), before && sum(field, before))
  const within = `in the ${words.toLowerCase()}`
  const now = account.value
  const budget = useOwnBudget()
  const known = (text: string): string => (usage ? text : '…')
  return (
    <div class="tiles five">
      {budget ? (
        <Tile name="Left of your budget" value={number(Math.min(budget.remaining, now?.credits ?? Infinity))}>
          of {budgetText(budget)}
          {budget.resetsAt && (
            <>
              , until <Time iso={budget.resetsAt} />
            </>
          )}
        </Tile>
      ) : (
        <Tile name="Balance" value={now ? number(now.credits) : '…'}>
          {balanceNote(now)}
        </Tile>
      )}
      <Tile name="Credits spent" value={known(number(sum('credits')))}>
        {known([within, worth(sum('credits')), change('credits')].filter(Boolean).join(' · '))}
      </Tile>
      <Tile name="Calls" value={known(number(sum('calls')))}>
        {known([within, change('calls')].filter(Boolean).join(' · '))}
      </Tile>
      <Tile name="Failed" value={known(share(sum('failed'), sum('calls')))}>
        {known(`${counted(sum('failed'), 'call')}, refunded`)}
      </Tile>
      <Tile name="Latency" value={latency ? (latency.all ? duration(latency.all.p50Ms) : '–') : '…'}>
        {latency?.all ? `median; 95% within ${duration(latency.all.p95Ms)}` : latency ? 'no call has succeeded' : '…'}
      </Tile>
    </div>
  )
}

/** What to know of the balance: what past calls still owe, or what running ones hold. */
function balanceNote(now: AccountState | null): string {
  if (now && now.debt > 0) return `${number(now.debt)} credits owed`
  if (now && now.running > 0) return `${number(now.held)} held by ${number(now.running)} running`
  return ['credits to spend', worth(now?.credits ?? 0)].filter(Boolean).join(' · ')
}

const Tile = ({ name, value, children }: { name: string; value: string; children: ComponentChildren }) => (
  <div class="tile">
    <span class="soft">{name}</span>
    <strong class="digits">{value}</strong>
    <small class="soft">{children}</small>
  </div>
)
