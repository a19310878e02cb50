/**
 * Codes that are worth credits.
 */
import { t } from '../../language/language.ts'
import { redeem } from '../../api/billing.ts'
import { Action, Done } from '../../parts/basics.tsx'
import { credits } from '../../parts/format.ts'
import { Field, Form, FormError, useStaying } from '../../parts/forms.tsx'
import { loadAccount } from '../../state/account.ts'

const words = t.credits.redeem

const ABOUT = { invalid_code: 'code', code_used: 'code' } as const

export function Redeem() {
  const { busy, problem, outcome, form, submits } = useStaying()
  const submit = submits(async ({ code = '' }) => {
    const answer = await redeem(code.trim())
    void loadAccount()
    return words.done(credits(answer.credits), credits(answer.balance))
  })
  return (
    <section class="panel">
      <h2>{words.title}</h2>
      <Form form={form} class="finder" problem={problem} onSubmit={submit} about={ABOUT}>
        <Field
          label={words.code}
          name="code"
          autoComplete="off"
          autoCapitalize="off"
          spellcheck={false}
          maxLength={100}
          required
        />
        <Action type="submit" busy={busy} busyText={words.redeeming}>
          {words.redeem}
        </Action>
        <FormError />
      </Form>
      <Done text={outcome} />
    </section>
  )
}
