/**
 * What happens when the balance falls: a mail, or a payment by the stored card.
 */
import { useState } from 'preact/hooks'
import { t } from '../../language/language.ts'
import type { AutoTopUp, Billing, Card, TopUp, TopUpFailure } from '../../api/billing.ts'
import { removeCard, saveBilling } from '../../api/billing.ts'
import { Problem } from '../../api/client.ts'
import { Action, Done, ErrorMessage, Time } from '../../parts/basics.tsx'
import { credits, number } from '../../parts/format.ts'
import { Choice, Field, Form, FormError, fieldsOf, useSubmit } from '../../parts/forms.tsx'
import { amountFault, majorText, minorOf, money } from '../../parts/money.ts'

const { low, topUp: words } = t.credits

type Props = { billing: Billing; changed: () => void }

/** Asks for an e-mail when the balance falls. */
export function LowBalance({ billing: { settings }, changed }: Props) {
  const { busy, problem, run } = useSubmit()
  const [outcome, setOutcome] = useState<string | null>(null)
  const save = (threshold: number | null): void =>
    run(async () => {
      setOutcome(null)
      await saveBilling({ lowBalance: threshold === null ? null : { threshold } })
      setOutcome(threshold === null ? low.none : low.below(credits(threshold)))
      changed()
    })
  return (
    <section class="panel">
      <h2>{low.title}</h2>
      <Form problem={problem} onSubmit={(event) => save(Number(fieldsOf(event)['threshold']))}>
        <Field
          label={low.label}
          name="threshold"
          type="number"
          min={1}
          step={1}
          required
          defaultValue={settings.lowBalance?.threshold}
          hint={low.hint}
        />
        <Buttons busy={busy} off={settings.lowBalance ? () => save(null) : null} outcome={outcome} />
      </Form>
    </section>
  )
}

type ButtonsProps = {
  busy: boolean
  /** Turns it off; null while it is. */
  off: (() => void) | null
  outcome: string | null
}

/** Saves or turns off what a form sets, and shows the result. */
const Buttons = ({ busy, off, outcome }: ButtonsProps) => (
  <>
    <FormError />
    <div class="row">
      <Action type="submit" busy={busy} busyText={t.settings.saving}>
        {off ? t.settings.save : t.credits.turnOn}
      </Action>
      {off && (
        <Action class="quiet" busy={busy} onClick={off}>
          {t.credits.turnOff}
        </Action>
      )}
    </div>
    <Done text={outcome} />
  </>
)

/** The currency of what is chosen; undefined if there is nothing to choose from. */
const currencyOf = ({ packs, topUp }: Billing, what: string): string | undefined =>
  packs.find(({ id }) => id === what)?.currency ?? topUp?.currency ?? packs[0]?.currency

/** Buys credits by the stored card when the balance falls; nothing if nothing is sold. */
export function TopUpByCard({ billing, changed }: Props) {
  if (currencyOf(billing, FREE) === undefined) return null
  return (
    <section class="panel">
      <h2>{words.title}</h2>
      {billing.topUpFailure && <Failure failure={billing.topUpFailure} isOn={billing.settings.autoTopUp !== null} />}
      {billing.card ? (
        <>
          <KeptCard card={billing.card} changed={changed} />
          <TopUpForm billing={billing} changed={changed} />
        </>
      ) : (
        <p>{words.noCard}</p>
      )}
    </section>
  )
}

/** Why the last automatic top-up failed, and what comes next. */
const Failure = ({ failure: { reason, at, retryAt }, isOn }: { failure: TopUpFailure; isOn: boolean }) => (
  <div class="notice" role="status" data-testid="top-up-failure">
    <p>
      <strong>{isOn ? words.failed : words.turnedOff}</strong>
      {words.at(<Time iso={at} />, t.errors.sentence(reason))}
      {retryAt && isOn && words.retry(<Time iso={retryAt} />)}
    </p>
  </div>
)

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
          <strong class="brand-name">{card.brand}</strong>
          {words.card(card.last4, expires)}
        </span>
        <Action class="small danger" busy={busy} busyText={t.settings.removing} onClick={remove}>
          {words.removeCard}
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
  ...packs.map(({ id, credits: bought, bonus, amountMinor, currency }) => {
    const extra = bonus > 0 ? number(bonus) : null
    return [id, words.choice(credits(bought), extra, money(amountMinor, currency))] as const
  }),
  ...(topUp ? [[FREE, words.anotherAmount] as const] : []),
]

/** What a form asks for. @throws Problem if an amount in it is none, or its cap allows no payment. */
function wantedTopUp(
  { threshold, amount = '', cap = '' }: Record<string, string>,
  what: string,
  billing: Billing,
): AutoTopUp {
  const { packs, topUp } = billing
  const currency = currencyOf(billing, what)!
  const pack = packs.find(({ id }) => id === what)
  const price = pack?.amountMinor ?? minorOf(amount, currency)
  const fault = pack ? null : amountFault(price, topUp!)
  const monthlyCapMinor = minorOf(cap, currency)
  if (!monthlyCapMinor) throw new Problem('invalid_request', words.capNoAmount, 'cap')
  if (fault !== null) throw new Problem('invalid_amount', fault)
  if (monthlyCapMinor < price!) throw new Problem('invalid_request', words.capTooLow(money(price!, currency)), 'cap')
  return { threshold: Number(threshold), monthlyCapMinor, ...(pack ? { pack: what } : { amountMinor: price! }) }
}

const ABOUT = { invalid_amount: 'amount' } as const

function TopUpForm({ billing, changed }: Props) {
  const { settings, packs, topUp } = billing
  const now = settings.autoTopUp
  const { busy, problem, run, submits } = useSubmit()
  const [outcome, setOutcome] = useState<string | null>(null)
  const [what, setWhat] = useState(now ? (now.pack ?? FREE) : (packs[0]?.id ?? FREE))
  const currency = currencyOf(billing, what)!
  const set = async (autoTopUp: AutoTopUp | null): Promise<void> => {
    setOutcome(null)
    await saveBilling({ autoTopUp })
    setOutcome(autoTopUp === null ? words.off : words.on)
    changed()
  }
  const submit = submits(async (texts) => set(wantedTopUp(texts, what, billing)))
  return (
    <Form problem={problem} onSubmit={submit} about={ABOUT}>
      <Field
        label={words.below}
        name="threshold"
        type="number"
        min={1}
        step={1}
        required
        defaultValue={now?.threshold}
        hint={words.belowHint}
      />
      <Choice
        label={t.credits.buy.buy}
        name="what"
        options={choicesOf(billing)}
        value={what}
        onChange={(event) => setWhat(event.currentTarget.value)}
      />
      {what === FREE && topUp && <AmountField topUp={topUp} amountMinor={now?.amountMinor} />}
      <Field
        label={words.cap(currency.toUpperCase())}
        name="cap"
        inputMode="decimal"
        required
        defaultValue={now ? majorText(now.monthlyCapMinor, currency) : undefined}
        hint={words.capHint}
      />
      <Buttons busy={busy} off={now ? () => run(() => set(null)) : null} outcome={outcome} />
    </Form>
  )
}

const AmountField = ({ topUp, amountMinor }: { topUp: TopUp; amountMinor: number | undefined }) => (
  <Field
    label={words.amount(topUp.currency.toUpperCase())}
    name="amount"
    inputMode="decimal"
    required
    defaultValue={amountMinor === undefined ? undefined : majorText(amountMinor, topUp.currency)}
    hint={words.rate(number(topUp.creditsPer), money(topUp.perMinor, topUp.currency))}
  />
)
