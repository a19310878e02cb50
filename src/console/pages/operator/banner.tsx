/**
 * The banner that everybody sees above every page: set, shown, removed.
 */
import { t } from '../../language/language.ts'
import type { BannerFields } from '../../api/operator.ts'
import { getTheBanner, removeBanner, setBanner } from '../../api/operator.ts'
import { Action, Done, Empty, ErrorMessage, Loading, Time } from '../../parts/basics.tsx'
import { expiryText } from '../../parts/format.ts'
import { Choice, Field, Form, Submit, useStaying, useSubmit } from '../../parts/forms.tsx'
import { loadBanner } from '../../state/banner.ts'
import { useLoad } from '../../state/load.ts'

const words = t.records

const LEVELS = Object.entries(words.levels)

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
        <h2>{words.theBanner}</h2>
        <ErrorMessage problem={problem ?? removing.problem} retry={reload} />
        {!data ? (
          !problem && <Loading rows={3} />
        ) : !banner ? (
          <Empty title={words.noBanner}>{words.aboutBanner}</Empty>
        ) : (
          <>
            <p class={`banner ${banner.level}`} data-testid="set-banner">
              {banner.text}
            </p>
            <p>
              {words.shown(
                <Time iso={banner.from} text={expiryText} />,
                banner.until ? words.shownUntil(<Time iso={banner.until} text={expiryText} />) : words.untilRemoved,
              )}
            </p>
            <Action class="danger" busy={removing.busy} busyText={t.settings.removing} onClick={remove}>
              {words.removeBanner}
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
    return words.bannerSet
  })
  return (
    <section class="panel">
      <h2>{words.setABanner}</h2>
      <Form form={form} problem={problem} onSubmit={submit}>
        <Field label={words.text} name="text" maxLength={300} required hint={words.replaces} />
        <Choice label={words.level} name="level" options={LEVELS} />
        <Field label={words.from} name="from" type="datetime-local" />
        <Field label={words.until} name="until" type="datetime-local" />
        <Submit busy={busy} busyText={words.setting} verb={words.set} />
        <Done text={outcome} />
      </Form>
    </section>
  )
}
