/**
 * The keys of upstreams: set or missing, how each does, and its switches.
 */
import { useState } from 'preact/hooks'
import { t } from '../../language/language.ts'
import type { UpstreamReport } from '../../api/operator.ts'
import { switchUpstreamKey, testUpstreamKey } from '../../api/operator.ts'
import { Action, Empty, ErrorMessage, Time } from '../../parts/basics.tsx'
import { duration, number } from '../../parts/format.ts'
import { useSubmit } from '../../parts/forms.tsx'
import type { Column } from '../../parts/table.tsx'
import { Table } from '../../parts/table.tsx'

const words = t.operator

type Key = UpstreamReport['keys'][number] & { upstream: string }

/** A key without a value is missing, whatever else is known of it. */
function State({ of: { configured, variable, state, reason, until, models } }: { of: Key }) {
  if (!configured) return <span class="status failed">{words.missing(variable ?? '')}</span>
  return (
    <span class={state === 'ok' ? 'status succeeded' : 'status failed'}>
      {words.states[state]}
      {reason !== null && state !== 'disabled' && words.because(words.reasons[reason] ?? reason.replaceAll('_', ' '))}
      {until !== null && words.askedAgain(<Time iso={until} />)}
      {models.length > 0 && words.ofModels(models.map(({ model }) => model).join(', '))}
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
      setOutcome(words.outcome(status, duration(ms), t.errors.sentence(says)))
    })
  const change = (): void =>
    run(async () => {
      await switchUpstreamKey(params, verb)
      changed()
    })
  const switchWord = verb === 'enable' ? t.webhooks.enable : t.webhooks.disable

  return (
    <>
      <span class="row">
        {configured && (
          <Action
            class="small quiet"
            busy={busy}
            busyText={words.testing}
            aria-label={words.ofKey(words.test, key, upstream)}
            onClick={test}
          >
            {words.test}
          </Action>
        )}
        <Action class="small quiet" busy={busy} aria-label={words.ofKey(switchWord, key, upstream)} onClick={change}>
          {switchWord}
        </Action>
      </span>
      <small role="status">{outcome}</small>
      <ErrorMessage problem={problem} />
    </>
  )
}

const columnsOf = (changed: () => void): Column<Key>[] => [
  { header: t.words.fields.upstream, sortBy: 'upstream', cell: ({ upstream }) => upstream },
  { header: t.frame.search.key, cell: ({ name }) => name },
  { header: t.words.fields.state, class: 'wrap', cell: (key) => <State of={key} /> },
  {
    header: words.requestsLastHour,
    right: true,
    class: 'digits',
    sortBy: 'calls',
    cell: ({ calls }) => number(calls),
  },
  { header: t.words.statuses.failed, right: true, class: 'digits', cell: ({ failures }) => number(failures) },
  { header: words.switches, hidden: true, class: 'wrap', cell: (key) => <Switches of={key} changed={changed} /> },
]

/** The keys of all upstreams. `reload`: reads them again, after a change. */
export function UpstreamKeys({ upstreams, reload }: { upstreams: readonly UpstreamReport[]; reload: () => void }) {
  const keys = upstreams.flatMap(({ upstream, keys: own }) => own.map((key) => ({ ...key, upstream })))
  return (
    <section class="panel" data-testid="upstream-keys">
      <div class="row between head">
        <h2>{t.frame.page.keys}</h2>
        <a href="/operator/catalogue">{words.addUpstream}</a>
      </div>
      <p class="soft">{words.aboutKeys}</p>
      {keys.length === 0 ? (
        <Empty title={words.noKeys} />
      ) : (
        <Table
          label={t.frame.page.keys}
          name="keys"
          columns={columnsOf(reload)}
          rows={keys}
          keyOf={({ upstream, name }) => `${upstream}/${name}`}
        />
      )}
    </section>
  )
}
