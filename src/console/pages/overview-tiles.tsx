/**
 * The numbers at the head of the overview.
 */
import type { ComponentChildren } from 'preact'
import type { AccountLatency, AccountState, UsageRow } from '../api/endpoints.ts'
import { counted, duration, number, share } from '../parts/format.ts'
import { worth } from '../parts/money.ts'
import { account } from '../state/account.ts'

type TilesProps = { usage: UsageRow[] | undefined; latency: AccountLatency | undefined; count: number }

/** The balance, and what was used in the last `count` days. */
export function Tiles({ usage, latency, count }: TilesProps) {
  const sum = (field: 'calls' | 'failed' | 'credits'): number => (usage ?? []).reduce((all, row) => all + row[field], 0)
  const now = account.value
  const known = (text: string): string => (usage ? text : '…')
  return (
    <div class="tiles five">
      <Tile name="Balance" value={now ? number(now.credits) : '…'}>
        {balanceNote(now)}
      </Tile>
      <Tile name="Credits spent" value={known(number(sum('credits')))}>
        {known([`in ${count} days`, worth(sum('credits'))].filter(Boolean).join(' · '))}
      </Tile>
      <Tile name="Calls" value={known(number(sum('calls')))}>
        accepted in {count} days
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
