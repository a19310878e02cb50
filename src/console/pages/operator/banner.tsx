/**
 * The banner that everybody sees above every page: set, shown, removed.
 */
import type { BannerFields } from '../../api/operator.ts'
import { getTheBanner, removeBanner, setBanner } from '../../api/operator.ts'
import { Action, Done, Empty, ErrorMessage, Loading, Time } from '../../parts/basics.tsx'
import { expiryText } from '../../parts/format.ts'
import { Choice, Field, Form, Submit, useStaying, useSubmit } from '../../parts/forms.tsx'
import { loadBanner } from '../../state/banner.ts'
import { useLoad } from '../../state/load.ts'

const LEVELS = [
  ['info', 'Notice'],
  ['warning', 'Warning'],
  ['critical', 'Important'],
] as const

/** A time of a form, in UTC. */
const momentOf = (text: string | undefined): string | undefined => (text ? `${text}:00Z` : undefined)

export function BannerSection() {
  const { data, problem, reload } = useLoad('the banner', getTheBanner)
  const removing = useSubmit()
  const remove = (): void =>
    removing.run(async () => {
      await removeBanner()
      reload()
      void loadBanner()
    })
  const banner = data?.banner
  return (
    <div class="columns">
      <section class="panel">
        <h2>The banner</h2>
        <ErrorMessage problem={problem ?? removing.problem} retry={reload} />
        {!data ? (
          !problem && <Loading rows={3} />
        ) : !banner ? (
          <Empty title="No banner is set">A banner is shown to everybody, above every page.</Empty>
        ) : (
          <>
            <p class={`banner ${banner.level}`} data-testid="set-banner">
              {banner.text}
            </p>
            <p>
              From <Time iso={banner.from} text={expiryText} />{' '}
              {banner.until ? (
                <>
                  until <Time iso={banner.until} text={expiryText} />
                </>
              ) : (
                'until it is removed'
              )}
            </p>
            <Action class="danger" busy={removing.busy} busyText="Removing…" onClick={remove}>
              Remove the banner
            </Action>
          </>
        )}
      </section>
      <NewBanner done={reload} />
    </div>
  )
}

function NewBanner({ done }: { done: () => void }) {
  const { busy, problem, outcome, form, submits } = useStaying()
  const submit = submits(async ({ text = '', level, from, until }) => {
    await setBanner({ text, level: level as BannerFields['level'], from: momentOf(from), until: momentOf(until) })
    done()
    void loadBanner()
    return 'Set. Pages that are open show it within a minute or so.'
  })
  return (
    <section class="panel">
      <h2>Set a banner</h2>
      <Form form={form} problem={problem} onSubmit={submit}>
        <Field label="Text" name="text" maxLength={300} required hint="It replaces the current banner." />
        <Choice label="Level" name="level" options={LEVELS} />
        <Field label="From (optional, UTC)" name="from" type="datetime-local" />
        <Field label="Until (optional, UTC)" name="until" type="datetime-local" />
        <Submit busy={busy} busyText="Setting…" verb="Set the banner" />
        <Done text={outcome} />
      </Form>
    </section>
  )
}
