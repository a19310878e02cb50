/**
 * Calls as a table. A row's link opens the call's drawer.
 */
import { t } from '../language/language.ts'
import type { CallRecord } from '../api/endpoints.ts'
import { Amount, Status, Time } from './basics.tsx'
import { duration, number } from './format.ts'
import type { Column } from './table.tsx'
import { BY_TIME, Table } from './table.tsx'

const words = t.overview.calls

/** `href` leads to a call; `keyNames` are the account's keys by their ids, of a list in pages. */
type Props = { calls: CallRecord[]; href: (id: string) => string; keyNames?: Map<string, string> }

export function CallTable({ calls, href, keyNames }: Props) {
  const columns: Column<CallRecord>[] = [
    {
      header: t.words.fields.time,
      ...(keyNames && { orders: BY_TIME }),
      cell: (call) => (
        <a href={href(call.id)}>
          <Time iso={call.createdAt} />
        </a>
      ),
    },
    MODEL,
    STATUS,
    CREDITS,
    TOKENS,
    TOOK,
  ]
  if (keyNames) columns.push({ header: words.key, cell: (call) => keyNames.get(call.keyId) ?? '', class: 'soft minor' })
  return (
    <Table label={t.frame.page.calls} class="calls" broad columns={columns} rows={calls} keyOf={(call) => call.id} />
  )
}

type Outcome = Pick<CallRecord, 'model' | 'count' | 'status' | 'errorType' | 'credits' | 'latencyMs'>

/** The model of a call, and how many refusals its record combines. */
export const MODEL: Column<Outcome> = {
  header: words.model,
  cell: (call) => (
    <>
      {call.model || <em>{t.words.fields.none}</em>}
      {call.count > 1 && <small> × {call.count}</small>}
    </>
  ),
}

/** The status of a call, and why it failed or was refused. */
export const STATUS: Column<Outcome> = {
  header: t.words.fields.status,
  cell: (call) => (
    <>
      <Status status={call.status} />
      {call.errorType && <small class="soft"> {call.errorType}</small>}
    </>
  ),
}

/** What a call cost. */
export const CREDITS: Column<Outcome> = {
  header: words.credits,
  right: true,
  cell: (call) => (
    <>
      <Amount value={call.credits} />
      <span class="unit">{words.creditUnit(call.credits)}</span>
    </>
  ),
}

/** The tokens that went in and came out, if there are any; on a phone they are among the call's details. */
const TOKENS: Column<Pick<CallRecord, 'inputTokens' | 'outputTokens'>> = {
  header: words.tokens,
  right: true,
  class: 'digits minor',
  cell: ({ inputTokens, outputTokens }) =>
    inputTokens === null ? null : (
      <>
        {number(inputTokens + (outputTokens ?? 0))}
        <span class="unit">{words.tokenUnit}</span>
      </>
    ),
}

/** How long a call took. */
export const TOOK: Column<Outcome> = {
  header: words.took,
  right: true,
  class: 'digits',
  cell: (call) => (call.latencyMs === null ? '…' : duration(call.latencyMs)),
}
