/**
 * Buying credits: the packs, and an amount of one's own. The provider's page takes the money.
 */
import { useState } from 'preact/hooks'
import { t } from '../../language/language.ts'
import type { Billing, Pack, TopUp } from '../../api/billing.ts'
import { checkout } from '../../api/billing.ts'
import { Action, ErrorMessage } from '../../parts/basics.tsx'
import { credits, number } from '../../parts/format.ts'
import { Field, useSubmit } from '../../parts/forms.tsx'
import { amountFault, creditsFor, minorOf, money } from '../../parts/money.ts'

const words = t.credits.buy

export function Buy({ billing: { packs, topUp } }: { billing: Billing }) {
  const { busy, problem, run } = useSubmit()
  const [chosen, setChosen] = useState<string | null>(null)
  const buy = (what: { pack: string } | { amountMinor: number }, name: string): void =>
    run(async () => {
      setChosen(name)
      const { url } = await checkout(what)
      location.assign(url)
    })
  return (
    <section class="panel" id="buy">
      <h2>{words.title}</h2>
      {packs.length > 0 && (
        <ul class="packs">
          {packs.map((pack) => (
            <PackCard
              key={pack.id}
              pack={pack}
              busy={busy && chosen === pack.id}
              buy={() => buy({ pack: pack.id }, pack.id)}
            />
          ))}
        </ul>
      )}
      {topUp && (
        <FreeAmount topUp={topUp} busy={busy && chosen === ''} buy={(amountMinor) => buy({ amountMinor }, '')} />
      )}
      <ErrorMessage problem={problem} />
      <p class="soft small-print">{words.thenReturn}</p>
    </section>
  )
}

function PackCard({ pack, busy, buy }: { pack: Pack; busy: boolean; buy: () => void }) {
  const price = money(pack.amountMinor, pack.currency)
  return (
    <li class="pack">
      <strong class="digits">{number(pack.credits)}</strong>
      <span class="soft">{words.credits}</span>
      <span class="bonus">{pack.bonus > 0 && words.bonus(number(pack.bonus))}</span>
      <Action
        busy={busy}
        busyText={words.opening}
        aria-label={words.buyFor(credits(pack.credits), price)}
        onClick={buy}
      >
        {price}
      </Action>
    </li>
  )
}

/** An amount of one's own, with what it gives while it is typed. */
function FreeAmount({ topUp, busy, buy }: { topUp: TopUp; busy: boolean; buy: (minor: number) => void }) {
  const [text, setText] = useState('')
  const [tried, setTried] = useState(false)
  const minor = minorOf(text, topUp.currency)
  const fault = amountFault(minor, topUp)
  const submit = (event: Event): void => {
    event.preventDefault()
    setTried(true)
    if (fault === null) buy(minor!)
  }
  const { currency, minMinor, maxMinor, creditsPer, perMinor } = topUp
  const rate = words.buys(money(perMinor, currency), credits(creditsPer))
  return (
    <form class="finder" onSubmit={submit} noValidate>
      <Field
        label={words.another(currency.toUpperCase())}
        name="amount"
        inputMode="decimal"
        autoComplete="off"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        invalid={tried && fault !== null}
        hint={
          <span data-testid="gives" aria-live="polite">
            {fault === null
              ? words.buys(money(minor!, currency), credits(creditsFor(minor!, topUp)))
              : tried && text !== ''
                ? fault
                : words.range(money(minMinor, currency), money(maxMinor, currency), rate)}
          </span>
        }
      />
      <Action type="submit" busy={busy} busyText={words.opening}>
        {words.buy}
      </Action>
    </form>
  )
}
