/**
 * Calls as a table. A row's link opens the call's drawer.
 */
import type { CallRecord } from '../api/endpoints.ts'
import { Amount, Status, Time } from './basics.tsx'
import { duration } from './format.ts'

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
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Calls">
      <table>
        <thead>
          <tr>
            <th scope="col">Time</th>
            <th scope="col">Model</th>
            <th scope="col">Status</th>
            <th scope="col" class="right">
              Credits
            </th>
            <th scope="col" class="right">
              Took
            </th>
            {keyNames && <th scope="col">Key</th>}
          </tr>
        </thead>
        <tbody>
          {calls.map((call) => (
            <tr key={call.id}>
              <td>
                <a href={href(call.id)}>
                  <Time iso={call.createdAt} />
                </a>
              </td>
              <td>
                {call.model || <em>none</em>}
                {call.count > 1 && <small> × {call.count}</small>}
              </td>
              <td>
                <Status status={call.status} />
                {call.errorType && <small class="soft"> {call.errorType}</small>}
              </td>
              <td class="right">
                <Amount value={call.credits} />
              </td>
              <td class="right digits">{call.latencyMs === null ? '…' : duration(call.latencyMs)}</td>
              {keyNames && <td class="soft">{keyNames.get(call.keyId) ?? ''}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
