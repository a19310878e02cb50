/**
 * Giving credits to an account, and taking them back.
 */
import { useRef, useState } from 'preact/hooks'
import { t } from '../../language/language.ts'
import { problemOf } from '../../api/client.ts'
import type { GrantFields } from '../../api/operator.ts'
import { giveCredits, takeCredits } from '../../api/operator.ts'
import { Done } from '../../parts/basics.tsx'
import { credits } from '../../parts/format.ts'
import { Choice, Field, Form, Submit, useStaying } from '../../parts/forms.tsx'

const words = t.accounts

/** The first is what is granted unless another is chosen: a purchase counts as sold, and nothing else does. */
const { bonus, purchase, adjustment } = t.words.origins
const ORIGINS = Object.entries({ bonus, purchase, adjustment })

type Props = { id: string; label: string; done: () => void }

export function GiveCredits({ id, label, done }: Props) {
  const { busy, problem, outcome, form, submits } = useStaying()
  const submit = submits(async ({ amount = '', origin = '', note = '', expiresAt = '' }) => {
    const answer = await giveCredits(id, {
      amount: Number(amount),
      origin: origin as GrantFields['origin'],
      ...(note && { note }),
      ...(expiresAt && { expiresAt }),
    })
    done()
    return words.granted(label, credits(answer.credits))
  })
  return (
    <section class="panel">
      <h2>{words.grantCredits}</h2>
      <Form form={form} problem={problem} onSubmit={submit}>
        <Field label={t.words.fields.amount} name="amount" type="number" min={1} step={1} required />
        <Choice label={t.words.fields.origin} name="origin" options={ORIGINS} />
        <Field label={words.note} name="note" maxLength={200} hint={words.noteHint} />
        <Field label={words.expiresOptional} name="expiresAt" type="date" />
        <Submit busy={busy} busyText={words.granting} verb={words.grant} />
        <Done text={outcome} />
      </Form>
    </section>
  )
}

/** A unique name for a request. It works without https, too. */
const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')

/** The key changes once credits were taken: until then a second press is the same request. */
export function TakeCredits({ id, label, done }: Props) {
  const { busy, problem, outcome, form, submits } = useStaying()
  const [mayAsk, setMayAsk] = useState(false)
  const key = useRef(newKey())
  const submit = submits(async ({ amount = '', reason = '', mayOwe }) => {
    const body = { amount: Number(amount), reason, mayOwe: mayOwe !== undefined, idempotencyKey: key.current }
    try {
      const { taken, owed, credits: left } = await takeCredits(id, body)

      key.current = newKey()
      setMayAsk(false)
      done()
      return words.deducted(credits(taken), owed > 0 ? credits(owed) : null, label, credits(left))
    } catch (thrown) {
      const { code } = problemOf(thrown)
      if (code === 'credits_spent') setMayAsk(true)
      // Something else was typed since the first press, whose outcome is unknown.
      if (code === 'idempotency_conflict') key.current = newKey()
      throw thrown
    }
  })
  return (
    <section class="panel">
      <h2>{words.deductCredits}</h2>
      <Form form={form} problem={problem} onSubmit={submit} about={{ credits_spent: 'amount' }}>
        <Field label={t.words.fields.amount} name="amount" type="number" min={1} step={1} required />
        <Field label={words.reason} name="reason" maxLength={200} required hint={words.reasonHint} />
        {mayAsk && (
          <label class="check">
            <input type="checkbox" name="mayOwe" value="yes" />
            {words.mayOwe}
          </label>
        )}
        <Submit class="danger" busy={busy} busyText={words.deducting} verb={words.deduct} />
        <Done text={outcome} />
      </Form>
    </section>
  )
}
