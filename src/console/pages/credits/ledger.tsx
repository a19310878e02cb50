/**
 * Where credits came from, and where they went.
 */
import { useEffect } from 'preact/hooks'
import { t } from '../../language/language.ts'
import type { Grant, LedgerEntry } from '../../api/endpoints.ts'
import { getGrants, getLedger } from '../../api/endpoints.ts'
import { Amount, Empty, Time } from '../../parts/basics.tsx'
import { number, shortId, signed, expiryText } from '../../parts/format.ts'
import { List, Pager } from '../../parts/list.tsx'
import type { PageProps } from '../../parts/route.ts'
import type { Column } from '../../parts/table.tsx'
import { Table } from '../../parts/table.tsx'
import { account } from '../../state/account.ts'
import { useLoad } from '../../state/load.ts'

const words = t.credits
const { columns } = words

const PAGE = 50

export function GrantsAndLedger({ query }: Pick<PageProps, 'query'>) {
  const grants = useLoad('grants', getGrants)
  const ledger = useLoad(`ledger ${query.cursor ?? ''}`, () => getLedger({ cursor: query.cursor, limit: String(PAGE) }))
  const { credits: balance, debt = 0 } = account.value ?? {}
  // Every movement changes the balance or the debt, or comes with one that did.
  useEffect(() => {
    if (balance === undefined) return
    grants.reload()
    if (!query.cursor) ledger.reload()
  }, [balance, debt, grants.reload, ledger.reload])
  return (
    <>
      <section class="panel">
        <h2>{words.grants}</h2>
        <List of={grants} rows={3} empty={<Empty title={words.noCredits}>{words.theyAppear}</Empty>}>
          {(items) => <GrantTable grants={items} />}
        </List>
      </section>
      <section class="panel">
        <h2>{words.ledger}</h2>
        <p class="soft">{words.aboutLedger}</p>
        <List of={ledger} rows={12} empty={<Empty title={words.noEntries}>{words.entriesAppear}</Empty>}>
          {(items) => <LedgerTable entries={items} />}
        </List>
        <Pager path="/credits" query={{ cursor: query.cursor }} next={ledger.data?.nextCursor} />
      </section>
    </>
  )
}

const GRANT_COLUMNS: Column<Grant>[] = [
  { header: columns.received, cell: (grant) => <Time iso={grant.createdAt} /> },
  { header: t.words.fields.origin, cell: (grant) => t.words.origins[grant.origin] },
  { header: t.words.fields.amount, right: true, cell: (grant) => <Amount value={grant.amount} /> },
  { header: columns.left, right: true, cell: (grant) => <Amount value={grant.remaining} /> },
  {
    header: t.words.fields.expires,
    cell: (grant) => (grant.expiresAt ? <Time iso={grant.expiresAt} text={expiryText} /> : words.never),
  },
]

export const GrantTable = ({ grants }: { grants: Grant[] }) => (
  <Table
    label={words.grants}
    columns={GRANT_COLUMNS}
    rows={grants}
    keyOf={(grant) => grant.id}
    faded={(grant) => grant.remaining === 0}
  />
)

const ledgerColumns = (callHref: (call: string) => string): Column<LedgerEntry>[] => [
  { header: t.words.fields.time, cell: (entry) => <Time iso={entry.createdAt} /> },
  { header: columns.what, cell: (entry) => t.words.entries[entry.kind] },
  {
    header: t.words.fields.amount,
    right: true,
    class: (entry) => (entry.amount > 0 ? 'digits plus' : 'digits'),
    cell: (entry) => signed(entry.amount),
  },
  { header: columns.balance, right: true, class: 'digits', cell: (entry) => number(entry.balanceAfter) },
  {
    header: columns.for,
    cell: (entry) =>
      entry.callId ? (
        <a href={callHref(entry.callId)}>{words.call(shortId(entry.callId))}</a>
      ) : (
        (entry.note ?? t.words.origins[entry.origin])
      ),
  },
]

type LedgerProps = {
  entries: LedgerEntry[]
  /** The page of a call; the owner's own page if absent. */
  callHref?: (call: string) => string
}

export const LedgerTable = ({ entries, callHref = (call) => `/calls/${call}` }: LedgerProps) => (
  <Table
    label={words.ledger}
    testId="ledger"
    columns={ledgerColumns(callHref)}
    rows={entries}
    keyOf={(entry) => entry.id}
  />
)
