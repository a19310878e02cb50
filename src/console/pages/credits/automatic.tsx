/**
 * What happens when the balance falls: a mail, or a payment by the stored card.
 */
import { useState } from 'preact/hooks'
import type { AutoTopUp, Billing, Card, TopUp, TopUpFailure } from '../../api/billing.ts'
import { removeCard, saveBilling } from '../../api/billing.ts'
import { Problem } from '../../api/client.ts'
import { Action, Done, ErrorMessage, Time } from '../../parts/basics.tsx'
import { credits, number } from '../../parts/format.ts'
import { Choice, Field, Form, FormError, fieldsOf, useSubmit } from '../../parts/forms.tsx'
import { amountFault, majorText, minorOf, money } from '../../parts/money.ts'

type Props = { billing: Billing; changed: () => void }

/** Asks for an e-mail when the balance falls. */
export function LowBalance({ billing: { settings }, changed }: Props) {
  const { busy, problem, run } = useSubmit()
  const [outcome, setOutcome] = useState<string | null>(null)
  const save = (threshold: number | null): void =>
    run(async () => {
      setOutcome(null)
      await saveBilling({ lowBalance: threshold === null ? null : { threshold } })
      setOutcome(threshold === null ? 'No e-mail will be sent.' : `You will get an e-mail below ${credits(threshold)}.`)
      changed()
    })
  return (
    <section class="panel">
      <h2>Low balance e-mail</h2>
      <Form problem={problem} onSubmit={(event) => save(Number(fieldsOf(event)['threshold']))}>
        <Field
          label="E-mail me below (credits)"
          name="threshold"
          type="number"
          min={1}
          step={1}
          required
          defaultValue={settings.lowBalance?.threshold}
          hint="One e-mail each time the balance falls below this."
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
      <Action type="submit" busy={busy} busyText="Saving…">
        {off ? 'Save' : 'Turn on'}
      </Action>
      {off && (
        <Action class="quiet" busy={busy} onClick={off}>
          Turn off
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
      <h2>Automatic top-up</h2>
      {billing.topUpFailure && <Failure failure={billing.topUpFailure} isOn={billing.settings.autoTopUp !== null} />}
      {billing.card ? (
        <>
          <KeptCard card={billing.card} changed={changed} />
          <TopUpForm billing={billing} changed={changed} />
        </>
      ) : (
        <p>
          Buys credits automatically when your balance runs low. It needs a saved card: tick the box to save yours on
          the payment page the next time you buy.
        </p>
      )}
    </section>
  )
}

/** Why the last automatic top-up failed, and what comes next. */
const Failure = ({ failure: { reason, at, retryAt }, isOn }: { failure: TopUpFailure; isOn: boolean }) => (
  <div class="notice" role="status" data-testid="top-up-failure">
    <p>
      <strong>{isOn ? 'The last automatic top-up failed' : 'Automatic top-up was turned off'}</strong> (
      <Time iso={at} />
      ). {reason}{' '}
      {retryAt && isOn && (
        <>
          If your balance is still low then, it is tried again: <Time iso={retryAt} />.
        </>
      )}
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
  ...packs.map(({ id, credits: bought, bonus, amountMinor, currency }) => {
    const gives = `${credits(bought)}${bonus > 0 ? ` + ${number(bonus)} bonus` : ''}`
    return [id, `${gives} for ${money(amountMinor, currency)}`] as const
  }),
  ...(topUp ? [[FREE, 'Another amount'] as const] : []),
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
  if (!monthlyCapMinor) throw new Problem('invalid_request', 'cap must be an amount, like 50.00.')
  if (fault !== null) throw new Problem('invalid_amount', fault)
  if (monthlyCapMinor < price!)
    throw new Problem('invalid_request', `cap must be at least ${money(price!, currency)}, which one top-up costs.`)
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
    setOutcome(autoTopUp === null ? 'Automatic top-up is off.' : 'Automatic top-up is on.')
    changed()
  }
  const submit = submits(async (texts) => set(wantedTopUp(texts, what, billing)))
  return (
    <Form problem={problem} onSubmit={submit} about={ABOUT}>
      <Field
        label="When the balance falls below (credits)"
        name="threshold"
        type="number"
        min={1}
        step={1}
        required
        defaultValue={now?.threshold}
        hint="A call that leaves less starts a top-up. With too few credits left for a call, buy some first."
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
        label={`At most per month (${currency.toUpperCase()})`}
        name="cap"
        inputMode="decimal"
        required
        defaultValue={now ? majorText(now.monthlyCapMinor, currency) : undefined}
        hint="All automatic payments of a calendar month (UTC) together."
      />
      <Buttons busy={busy} off={now ? () => run(() => set(null)) : null} outcome={outcome} />
    </Form>
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
