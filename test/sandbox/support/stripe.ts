import Stripe from 'stripe'

/** Where the shop of the tests wants its customers back. */
export const RETURN = 'http://127.0.0.1:1/credits?payment=pay_1&session={CHECKOUT_SESSION_ID}'

/** An order for ten euros of credits. */
export function order(more: Partial<Stripe.Checkout.SessionCreateParams> = {}): Stripe.Checkout.SessionCreateParams {
  return {
    mode: 'payment',
    success_url: RETURN,
    cancel_url: 'http://127.0.0.1:1/credits',
    client_reference_id: 'pay_1',
    metadata: { payment: 'pay_1' },
    line_items: [
      { quantity: 1, price_data: { currency: 'eur', unit_amount: 1000, product_data: { name: '10,000 credits' } } },
    ],
    payment_intent_data: { metadata: { payment: 'pay_1' } },
    ...more,
  }
}

/** What Stripe's client says of a call that is refused; throws for one that is not. */
export async function refusalOf(call: Promise<unknown>): Promise<Stripe.errors.StripeError> {
  const failure = await call.then(
    () => undefined,
    (error: unknown) => error,
  )
  if (!(failure instanceof Stripe.errors.StripeError)) throw new Error(`not refused by Stripe: ${String(failure)}`)
  return failure
}
