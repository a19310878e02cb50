/**
 * The keys of upstreams: set or missing, how each does, and its switches.
 */
import { useState } from 'preact/hooks'
import type { UpstreamReport } from '../../api/operator.ts'
import { switchUpstreamKey, testUpstreamKey } from '../../api/operator.ts'
import { Action, Empty, ErrorMessage, Time } from '../../parts/basics.tsx'
import { duration, number } from '../../parts/format.ts'
import { useSubmit } from '../../parts/forms.tsx'
import type { Column } from '../../parts/table.tsx'
import { Table } from '../../parts/table.tsx'

type Key = UpstreamReport['keys'][number] & { upstream: string }

const STATES: Record<Key['state'], string> = {
  ok: 'Set',
  cooling: 'Cooling down',
  off: 'Off',
  disabled: 'Disabled by an operator',
}

const REASONS: Record<string, string> = {
  refused: 'refused by the upstream',
  no_credit: 'its account there has no credit',
  rate_limited: 'over its limit',
}

/** A key without a value is missing, whatever else is known of it. */
function State({ of: { configured, state, reason, until, models } }: { of: Key }) {
  if (!configured) return <span class="status failed">Missing: its variable has no value</span>
  return (
    <span class={state === 'ok' ? 'status succeeded' : 'status failed'}>
      {STATES[state]}
      {reason !== null && state !== 'disabled' && `: ${REASONS[reason] ?? reason.replaceAll('_', ' ')}`}
      {until !== null && (
        <>
          , asked again <Time iso={until} />
        </>
      )}
      {models.length > 0 && ` (${models.map(({ model }) => model).join(', ')})`}
    </span>
  )
}

/** Tests a key, or switches it. `changed`: it was switched. */
function Switches({ of: { upstream, name: key, configured, state }, changed }: { of: Key; changed: () => void }) {
  const { busy, problem, run } = useSubmit()
  const [outcome, setOutcome] = useState('')
  const params = { upstream, key }
  const verb = state === 'ok' ? 'disable' : 'enable'
  const test = (): void =>
    run(async () => {
      const { status, ms, says } = await testUpstreamKey(params)
      setOutcome(`${status === null ? 'No answer' : `HTTP ${status}`} in ${duration(ms)}: the upstream ${says}`)
    })
  const change = (): void =>
    run(async () => {
      await switchUpstreamKey(params, verb)
      changed()
    })
  const named = `the key ${key} of ${upstream}`
  return (
    <>
      <span class="row">
        {configured && (
          <Action class="small quiet" busy={busy} busyText="Testing…" aria-label={`Test ${named}`} onClick={test}>
            Test
          </Action>
        )}
        <Action
          class="small quiet"
          busy={busy}
          aria-label={`${verb === 'enable' ? 'Enable' : 'Disable'} ${named}`}
          onClick={change}
        >
          {verb === 'enable' ? 'Enable' : 'Disable'}
        </Action>
      </span>
      <small role="status">{outcome}</small>
      <ErrorMessage problem={problem} />
    </>
  )
}

const columnsOf = (changed: () => void): Column<Key>[] => [
  { header: 'Upstream', sortBy: ({ upstream }) => upstream, cell: ({ upstream }) => upstream },
  { header: 'Key', cell: ({ name }) => name },
  { header: 'State', class: 'wrap', cell: (key) => <State of={key} /> },
  {
    header: 'Requests, last hour',
    right: true,
    class: 'digits',
    sortBy: ({ calls }) => calls,
    cell: ({ calls }) => number(calls),
  },
  { header: 'Failed', right: true, class: 'digits', cell: ({ failures }) => number(failures) },
  { header: 'Switches', hidden: true, class: 'wrap', cell: (key) => <Switches of={key} changed={changed} /> },
]

/** The keys of all upstreams. `reload`: reads them again, after a change. */
export function UpstreamKeys({ upstreams, reload }: { upstreams: readonly UpstreamReport[]; reload: () => void }) {
  const keys = upstreams.flatMap(({ upstream, keys: own }) => own.map((key) => ({ ...key, upstream })))
  return (
    <section class="panel" data-testid="upstream-keys">
      <div class="row between head">
        <h2>Keys</h2>
        <a href="/operator/catalogue">Add or edit an upstream</a>
      </div>
      <p class="soft">
        A key is the value of an environment variable that the catalogue names. Set it, and restart web and workers.
      </p>
      {keys.length === 0 ? (
        <Empty title="No keys" />
      ) : (
        <Table
          label="Keys"
          columns={columnsOf(reload)}
          rows={keys}
          keyOf={({ upstream, name }) => `${upstream}/${name}`}
        />
      )}
    </section>
  )
}
