/**
 * The limits of an account: its own, where operators have set them.
 */
import type { AccountLimits, OperatedAccount } from '../../api/operator.ts'
import { limitAccount } from '../../api/operator.ts'
import { Done } from '../../parts/basics.tsx'
import { Field, Form, Submit, useStaying } from '../../parts/forms.tsx'

const FIELDS = [
  ['rateLimit', 'Requests per minute', 'Leave empty for the usual limit.'],
  ['maxOutstanding', 'Calls at once', 'Leave empty for the usual limit.'],
  ['tokensPerMinute', 'Tokens per minute', 'Leave empty for no limit.'],
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
    return 'Saved. They hold from the next request on.'
  })
  return (
    <section class="panel">
      <h2>Limits</h2>
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
        <Submit busy={busy} busyText="Saving…" verb="Save limits" />
        <Done text={outcome} />
      </Form>
    </section>
  )
}
