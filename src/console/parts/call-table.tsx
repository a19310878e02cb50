/**
 * Calls as a table. A row's link opens the call's drawer.
 */
import type { CallRecord } from '../api/endpoints.ts'
import { Amount, Status, Time } from './basics.tsx'
import { duration } from './format.ts'
import type { Column } from './table.tsx'
import { Table } from './table.tsx'

/** `href` leads to a call; `keyNames` are the account's keys by their ids. */
export function CallTable({
  calls,
  href,
  keyNames,
}: {
  calls: CallRecord[]
  href: (id: string) => string
  keyNames?: Map<string, string>
}) {
  const columns: Column<CallRecord>[] = [
    {
      header: 'Time',
      cell: (call) => (
        <a href={href(call.id)}>
          <Time iso={call.createdAt} />
        </a>
      ),
    },
    ...OUTCOME,
  ]
  if (keyNames) columns.push({ header: 'Key', cell: (call) => keyNames.get(call.keyId) ?? '', class: 'soft' })
  return <Table label="Calls" columns={columns} rows={calls} keyOf={(call) => call.id} />
}

const OUTCOME: Column<CallRecord>[] = [
  {
    header: 'Model',
    cell: (call) => (
      <>
        {call.model || <em>none</em>}
        {call.count > 1 && <small> × {call.count}</small>}
      </>
    ),
  },
  {
    header: 'Status',
    cell: (call) => (
      <>
        <Status status={call.status} />
        {call.errorType && <small class="soft"> {call.errorType}</small>}
      </>
    ),
  },
  { header: 'Credits', right: true, cell: (call) => <Amount value={call.credits} /> },
  {
    header: 'Took',
    right: true,
    class: 'digits',
    cell: (call) => (call.latencyMs === null ? '…' : duration(call.latencyMs)),
  },
]
