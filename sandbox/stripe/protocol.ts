import type { Protocol } from '../exchange.ts'
import { authorizationKey } from '../wire.ts'
import { chargeEndpoints } from './charges.ts'
import { checkoutEndpoints } from './checkout.ts'
import { customerEndpoints } from './customers.ts'
import { disputeEndpoints } from './disputes.ts'
import { need, stripeError } from './errors.ts'
import { intentEndpoints } from './intents.ts'
import { fitsCreated, page } from './lists.ts'
import { asList } from './fields.ts'
import { paymentMethodEndpoints } from './payment-methods.ts'
import { refundEndpoints } from './refunds.ts'
import { listing, route } from './requests.ts'
import type { Endpoint } from './requests.ts'

const eventEndpoints: readonly Endpoint[] = [
  listing('/v1/events', ['type', 'types'], ({ account, fields, path }) => {
    const types = asList(fields['types'])
    const found = account.objects
      .list('event')
      .filter((one) => fitsCreated(one.created, fields))
      .filter((one) => fields['type'] === undefined || one.type === fields['type'])
      .filter((one) => types.length === 0 || types.includes(one.type))
    return page(found, fields, path)
  }),
  { method: 'GET', path: '/v1/events/:id', takes: [], run: ({ account, id }) => need(account, 'event', id) },
]

const accountEndpoint: Endpoint = {
  method: 'GET',
  path: '/v1/account',
  takes: [],
  run: ({ account }) => ({ id: `acct_${account.name}`, object: 'account', charges_enabled: true, country: 'IE' }),
}

/** The part of Stripe's API that takes payments. It has the addresses of Stripe, which none of the others uses. */
export const stripeProtocol: Protocol = {
  name: 'stripe',
  keyOf: (headers) => authorizationKey(headers, 'Bearer'),
  envelope: stripeError,
  outOfCredit: { status: 402, message: 'Out of credit.' },
  routes: [
    ...customerEndpoints,
    ...paymentMethodEndpoints,
    ...checkoutEndpoints,
    ...intentEndpoints,
    ...chargeEndpoints,
    ...refundEndpoints,
    ...disputeEndpoints,
    ...eventEndpoints,
    accountEndpoint,
  ].map(route),
}
