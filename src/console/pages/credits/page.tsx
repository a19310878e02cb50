/**
 * The page of credits: buying them, where they came from, and where they went.
 */
import { useCallback, useEffect } from 'preact/hooks'
import { t } from '../../language/language.ts'
import { getPayments } from '../../api/billing.ts'
import { ErrorMessage, Loading, Page } from '../../parts/basics.tsx'
import { credits, number } from '../../parts/format.ts'
import { GetCredits } from '../../parts/get-credits.tsx'
import type { PageProps } from '../../parts/route.ts'
import { Worth } from '../../parts/worth.tsx'
import { account } from '../../state/account.ts'
import { buying, useBilling } from '../../state/billing.ts'
import { useLoad } from '../../state/load.ts'
import { LowBalance, TopUpByCard } from './automatic.tsx'
import { Buy } from './buy.tsx'
import { Download } from '../../parts/download.tsx'
import { GrantsAndLedger } from './ledger.tsx'
import { Payments, Returned } from './payments.tsx'
import { Redeem } from './redeem.tsx'

const words = t.credits

export function CreditsPage({ query }: PageProps) {
  const { debt = 0 } = account.value ?? {}
  const provider = buying()?.provider
  return (
    <Page title={t.frame.page.credits} aside={<Download path="/api/exports/ledger" name="tollgate-ledger.csv" />}>
      <Balance />
      {debt > 0 && (
        <div class="notice" role="status" data-testid="debt">
          <p>
            <strong>{words.owe(credits(debt))}</strong>
            {words.aboutDebt}
          </p>
        </div>
      )}
      {provider ? (
        <Shop query={query} />
      ) : (
        <>
          {provider === null && <NoShop />}
          <Redeem />
        </>
      )}
      <GrantsAndLedger query={query} />
    </Page>
  )
}

/** What there is to spend, and what running calls hold of it. */
function Balance() {
  const now = account.value
  if (!now) return null
  return (
    <p class="sum">
      {words.balance(<strong class="digits">{credits(now.credits)}</strong>)}
      <Worth credits={now.credits} />
      {now.running > 0 && (
        <span class="soft">{words.held(number(now.held), number(now.running), now.running === 1)}</span>
      )}
    </p>
  )
}

/** Everything that needs a provider. */
function Shop({ query }: { query: Record<string, string> }) {
  const { data: billing, problem, reload } = useBilling()
  const cursor = query['payments']
  const payments = useLoad(`payments ${cursor ?? ''}`, () => getPayments({ cursor }))
  const balance = account.value?.credits
  const changed = useCallback(() => {
    payments.reload()
    reload()
  }, [payments.reload, reload])
  useEffect(() => {
    if (balance !== undefined && !cursor) payments.reload()
  }, [balance, cursor, payments.reload])
  return (
    <>
      {query['payment'] && <Returned key={query['payment']} id={query['payment']} changed={changed} />}
      <ErrorMessage problem={problem} retry={reload} />
      {billing ? <Buy billing={billing} /> : !problem && <Loading rows={6} />}
      <Payments payments={payments} cursor={cursor} changed={changed} />
      <div class="columns">
        <div>
          {billing && <LowBalance key={JSON.stringify(billing.settings)} billing={billing} changed={reload} />}
          <Redeem />
        </div>
        {billing && (
          <TopUpByCard
            key={JSON.stringify([billing.settings, billing.card, billing.topUpFailure])}
            billing={billing}
            changed={reload}
          />
        )}
      </div>
    </>
  )
}

const NoShop = () => (
  <section class="panel">
    <h2>{t.overview.getCredits.get}</h2>
    <p>
      <GetCredits />
    </p>
  </section>
)
