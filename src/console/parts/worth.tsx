/**
 * What credits and prices are worth in money, next to their number.
 */
import type { ModelEntry } from '../api/endpoints.ts'
import { priceText } from './format.ts'
import { priceWorth, worth } from './money.ts'

/** What an amount is worth; nothing if no credits are sold. */
export function Worth({ credits }: { credits: number }) {
  const text = worth(credits)
  return text === null ? null : <small class="soft"> ({text})</small>
}

/** The price of a model in credits, and what that is in money. */
export function Price({ model }: { model: ModelEntry }) {
  const inMoney = priceWorth(model)
  return (
    <>
      <span>{priceText(model)}</span>
      {inMoney !== null && <small class="soft"> ({inMoney})</small>}
    </>
  )
}
