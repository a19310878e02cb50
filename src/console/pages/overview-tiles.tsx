/**
 * The numbers at the head of the overview.
 */
import type { ComponentChildren } from 'preact'
import { t } from '../language/language.ts'
import type { AccountLatency, AccountState, UsageRow } from '../api/endpoints.ts'
import { Time } from '../parts/basics.tsx'
import { budgetText } from '../parts/budget.tsx'
import { duration, number, share } from '../parts/format.ts'
import { worth } from '../parts/money.ts'
import { account } from '../state/account.ts'
import { useOwnBudget } from '../state/members.ts'

const { tiles } = t.overview

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
  return now === then ? tiles.asMuch : (now > then ? tiles.more : tiles.less)(share(Math.abs(now - then), then))
}

/** The balance, and what was used in a time, compared with the time before. */
export function Tiles({ usage, before, latency, words }: TilesProps) {
  const sum = (field: 'calls' | 'failed' | 'credits', rows = usage): number =>
    (rows ?? []).reduce((all, row) => all + row[field], 0)
  const change = (field: 'calls' | 'credits'): string | null => changeText(sum(field), before && sum(field, before))
  const within = t.overview.within(words)
  const now = account.value
  const budget = useOwnBudget()
  const known = (text: string): string => (usage ? text : '…')
  return (
    <div class="tiles five">
      {budget ? (
        <Tile name={tiles.left} value={number(Math.min(budget.remaining, now?.credits ?? Infinity))}>
          {tiles.of(budgetText(budget), budget.resetsAt && <Time iso={budget.resetsAt} />)}
        </Tile>
      ) : (
        <Tile name={tiles.balance} value={now ? number(now.credits) : '…'}>
          {balanceNote(now)}
        </Tile>
      )}
      <Tile name={tiles.spent} value={known(number(sum('credits')))}>
        {known([within, worth(sum('credits')), change('credits')].filter(Boolean).join(' · '))}
      </Tile>
      <Tile name={t.frame.page.calls} value={known(number(sum('calls')))}>
        {known([within, change('calls')].filter(Boolean).join(' · '))}
      </Tile>
      <Tile name={tiles.failed} value={known(share(sum('failed'), sum('calls')))}>
        {known(tiles.refunded(number(sum('failed')), sum('failed') === 1))}
      </Tile>
      <Tile
        name={t.overview.measures.latency}
        value={latency ? (latency.all ? duration(latency.all.p50Ms) : '–') : '…'}
      >
        {latency?.all ? tiles.median(duration(latency.all.p95Ms)) : latency ? tiles.noSuccess : '…'}
      </Tile>
    </div>
  )
}

/** What to know of the balance: what past calls still owe, or what running ones hold. */
function balanceNote(now: AccountState | null): string {
  if (now && now.debt > 0) return tiles.owed(number(now.debt))
  if (now && now.running > 0) return tiles.held(number(now.held), number(now.running))
  return [tiles.toSpend, worth(now?.credits ?? 0)].filter(Boolean).join(' · ')
}

const Tile = ({ name, value, children }: { name: string; value: string; children: ComponentChildren }) => (
  <div class="tile">
    <span class="soft">{name}</span>
    <strong class="digits">{value}</strong>
    <small class="soft">{children}</small>
  </div>
)
