/**
 * What happens when the balance falls: a mail, or a payment by the card that was kept.
 */
import { useState } from 'preact/hooks'
import type { AutoTopUp, Billing, Card, TopUp } from '../../api/billing.ts'
import { removeCard, saveBilling } from '../../api/billing.ts'
import { Action, ErrorMessage } from '../../parts/basics.tsx'
import { credits, number } from '../../parts/format.ts'
import type { SubmitState } from '../../parts/forms.tsx'
import { Choice, Field, fieldsOf, useSubmit } from '../../parts/forms.tsx'
import { majorText, minorOf, money } from '../../parts/money.ts'

type Props = { billing: Billing; changed: () => void }

export const Automatic = ({ billing, changed }: Props) => (
  <div class="columns">
    <LowBalance billing={billing} changed={changed} />
    <TopUpByCard billing={billing} changed={changed} />
  </div>
)

function LowBalance({ billing: { settings }, changed }: Props) {
  const { busy, problem, run } = useSubmit()
  const [said, setSaid] = useState<string | null>(null)
  const save = (threshold: number | null): void =>
    run(async () => {
      setSaid(null)
      await saveBilling({ lowBalance: threshold === null ? null : { threshold } })
      setSaid(threshold === null ? 'No mail is sent.' : `A mail is sent below ${credits(threshold)}.`)
      changed()
    })
  return (
    <section class="panel">
      <h2>Low balance mail</h2>
      <form onSubmit={(event) => save(Number(fieldsOf(event)['threshold']))} noValidate>
        <Field
          label="Write to me below (credits)"
          name="threshold"
          type="number"
          min={1}
          step={1}
          required
          defaultValue={settings.lowBalance?.threshold}
          hint="One mail each time that the balance falls below it."
          invalid={problem !== null}
        />
        <Buttons submit={{ busy, problem }} off={settings.lowBalance ? () => save(null) : null} said={said} />
      </form>
    </section>
  )
}

type ButtonsProps = {
  submit: Pick<SubmitState, 'busy' | 'problem'>
  /** Turns it off; null while it is. */
  off: (() => void) | null
  said: string | null
}

/** Saves or turns off what a form sets, and says what came of it. */
const Buttons = ({ submit: { busy, problem }, off, said }: ButtonsProps) => (
  <>
    <ErrorMessage problem={problem} />
    <div class="row">
      <Action type="submit" busy={busy} busyText="Saving…">
        {off ? 'Save' : 'Turn on'}
      </Action>
      {off && (
        <Action class="quiet" busy={busy} onClick={off}>
          Turn off
        </Action>
      )}
    </div>
    <p class="done" role="status">
      {said}
    </p>
  </>
)

/** Nothing to choose from: neither packs nor free amounts. */
const currencyOf = ({ packs, topUp }: Billing): string | undefined => topUp?.currency ?? packs[0]?.currency

function TopUpByCard({ billing, changed }: Props) {
  const currency = currencyOf(billing)
  if (currency === undefined) return null
  return (
    <section class="panel">
      <h2>Automatic top-up</h2>
      {billing.card ? (
        <>
          <KeptCard card={billing.card} changed={changed} />
          <TopUpForm billing={billing} currency={currency} changed={changed} />
        </>
      ) : (
        <p>
          Buys credits by itself when your balance falls. It needs a card: let the payment page keep yours the next time
          that you buy.
        </p>
      )}
    </section>
  )
}

function KeptCard({ card, changed }: { card: Card; changed: () => void }) {
  const { busy, problem, run } = useSubmit()
  const remove = (): void =>
    run(async () => {
      await removeCard()
      changed()
    })
  const expires = `${String(card.expMonth).padStart(2, '0')}/${card.expYear}`
  return (
    <>
      <p class="row" data-testid="card">
        <span>
          <strong class="brand-name">{card.brand}</strong> ending in {card.last4}, expires {expires}
        </span>
        <Action class="small danger" busy={busy} busyText="Removing…" onClick={remove}>
          Remove card
        </Action>
      </p>
      <ErrorMessage problem={problem} />
    </>
  )
}

/** What the choice of a free amount is called among the packs; no pack has an empty name. */
const FREE = ''

/** What an automatic payment can buy. */
const choicesOf = ({ packs, topUp }: Billing) => [
  ...packs.map((pack) => [pack.id, `${credits(pack.credits)} for ${money(pack.amountMinor, pack.currency)}`] as const),
  ...(topUp ? [[FREE, 'Another amount'] as const] : []),
]

function TopUpForm({ billing, currency, changed }: Props & { currency: string }) {
  const { settings, packs, topUp } = billing
  const now = settings.autoTopUp
  const { busy, problem, run } = useSubmit()
  const [said, setSaid] = useState<string | null>(null)
  const [what, setWhat] = useState(now ? (now.pack ?? FREE) : (packs[0]?.id ?? FREE))
  const save = (autoTopUp: AutoTopUp | null): void =>
    run(async () => {
      setSaid(null)
      await saveBilling({ autoTopUp })
      setSaid(autoTopUp === null ? 'Automatic top-up is off.' : 'Automatic top-up is on.')
      changed()
    })
  const submit = (event: Event): void => {
    const { threshold, amount = '', cap = '' } = fieldsOf(event)
    const bought = what === FREE ? { amountMinor: minorOf(amount, currency) ?? 0 } : { pack: what }
    save({ threshold: Number(threshold), monthlyCapMinor: minorOf(cap, currency) ?? 0, ...bought })
  }
  return (
    <form onSubmit={submit} noValidate>
      <Field
        label="When the balance falls below (credits)"
        name="threshold"
        type="number"
        min={1}
        step={1}
        required
        defaultValue={now?.threshold}
      />
      <Choice
        label="Buy"
        name="what"
        options={choicesOf(billing)}
        value={what}
        onChange={(event) => setWhat(event.currentTarget.value)}
      />
      {what === FREE && topUp && <AmountField topUp={topUp} amountMinor={now?.amountMinor} />}
      <Field
        label={`At most in a month (${currency.toUpperCase()})`}
        name="cap"
        inputMode="decimal"
        required
        defaultValue={now ? majorText(now.monthlyCapMinor, currency) : undefined}
        hint="Automatic payments of a calendar month (UTC), all together."
      />
      <Buttons submit={{ busy, problem }} off={now ? () => save(null) : null} said={said} />
    </form>
  )
}

const AmountField = ({ topUp, amountMinor }: { topUp: TopUp; amountMinor: number | undefined }) => (
  <Field
    label={`Amount (${topUp.currency.toUpperCase()})`}
    name="amount"
    inputMode="decimal"
    required
    defaultValue={amountMinor === undefined ? undefined : majorText(amountMinor, topUp.currency)}
    hint={`${number(topUp.creditsPer)} credits for ${money(topUp.perMinor, topUp.currency)}.`}
  />
)
