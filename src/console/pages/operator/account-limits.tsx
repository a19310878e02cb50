/**
 * The limits of an account: its own, where operators have set them.
 */
import { t } from '../../language/language.ts'
import type { AccountLimits, OperatedAccount } from '../../api/operator.ts'
import { limitAccount } from '../../api/operator.ts'
import { Done } from '../../parts/basics.tsx'
import { Field, Form, Submit, useStaying } from '../../parts/forms.tsx'

const words = t.accounts

const FIELDS = [
  ['rateLimit', t.keys.rate, words.usualLimit],
  ['maxOutstanding', t.keys.atOnce, words.usualLimit],
  ['tokensPerMinute', t.keys.tokens, words.noLimit],
] as const

const textOf = (limit: number | null): string => (limit === null ? '' : String(limit))

/** What the texts of the form change. A field that was emptied lifts its limit. */
const changesOf = (texts: Record<string, string>, limits: OperatedAccount['limits']): AccountLimits =>
  Object.fromEntries(
    FIELDS.flatMap(([name]) => {
      const text = (texts[name] ?? '').trim()
      return text === textOf(limits[name]) ? [] : [[name, text === '' ? null : Number(text)]]
    }),
  )

/** Sets the limits of an account. */
export function LimitAccount({ account: { id, limits }, done }: { account: OperatedAccount; done: () => void }) {
  const { busy, problem, outcome, submits } = useStaying()
  const submit = submits(async (texts) => {
    await limitAccount(id, changesOf(texts, limits))
    done()
    return words.savedNext
  })
  return (
    <section class="panel">
      <h2>{t.keys.limits}</h2>
      <Form problem={problem} onSubmit={submit}>
        {FIELDS.map(([name, label, hint]) => (
          <Field
            key={name}
            label={label}
            name={name}
            type="number"
            min={1}
            defaultValue={textOf(limits[name])}
            hint={hint}
          />
        ))}
        <Submit busy={busy} busyText={t.settings.saving} verb={t.keys.saveLimits} />
        <Done text={outcome} />
      </Form>
    </section>
  )
}
