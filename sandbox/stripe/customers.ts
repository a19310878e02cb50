import type Stripe from 'stripe'
import { asFields, asText } from '../wire.ts'
import type { Fields } from '../wire.ts'
import { newId, seconds } from './account.ts'
import type { StripeAccount } from './account.ts'
import { need } from './errors.ts'
import { emit } from './events.ts'
import { badField, metadataOf } from './fields.ts'
import { fitsCreated, page } from './lists.ts'
import { listing } from './requests.ts'
import type { Endpoint } from './requests.ts'

const FIELDS = ['email', 'name', 'description', 'phone', 'metadata', 'invoice_settings']

/** The endpoints of customers. */
export const customerEndpoints: readonly Endpoint[] = [
  { method: 'POST', path: '/v1/customers', takes: FIELDS, run: ({ account, fields }) => create(account, fields) },
  listing('/v1/customers', ['email'], ({ account, fields, path }) => {
    const found = account.objects
      .list('customer')
      .filter((one): one is Stripe.Customer => !one.deleted)
      .filter((one) => fitsCreated(one.created, fields))
      .filter((one) => fields['email'] === undefined || one.email === fields['email'])
    return page(found, fields, path)
  }),
  { method: 'GET', path: '/v1/customers/:id', takes: [], run: ({ account, id }) => need(account, 'customer', id) },
  {
    method: 'POST',
    path: '/v1/customers/:id',
    takes: FIELDS,
    run: ({ account, id, fields }) => update(customerOf(account, id), fields),
  },
  { method: 'DELETE', path: '/v1/customers/:id', takes: [], run: ({ account, id }) => remove(account, id) },
]

/**
 * The customer with this id, who was not deleted.
 * @throws {Refusal} `resource_missing`
 */
export function customerOf(account: StripeAccount, id: string, param?: string): Stripe.Customer {
  const found = need(account, 'customer', id, param)
  if (found.deleted) throw badField(`No such customer: '${id}'`, param ?? 'id', 'resource_missing')
  return found
}

/**
 * Refuses to list objects of a customer that this account and mode never had; those of a deleted one stay listed.
 * @throws {Refusal} `resource_missing`
 */
export function knownCustomer(account: StripeAccount, fields: Fields): void {
  if (fields['customer'] !== undefined) need(account, 'customer', asText(fields['customer']), 'customer')
}

function create(account: StripeAccount, fields: Fields): Stripe.Customer {
  const customer: Stripe.Customer = {
    id: newId('cus').replace('cus_', 'cus_S'),
    object: 'customer',
    address: null,
    balance: 0,
    created: seconds(),
    currency: null,
    default_source: null,
    delinquent: false,
    description: null,
    email: null,
    invoice_prefix: 'SANDBOX',
    invoice_settings: { custom_fields: null, default_payment_method: null, footer: null, rendering_options: null },
    livemode: account.livemode,
    metadata: {},
    name: null,
    phone: null,
    preferred_locales: [],
    shipping: null,
    tax_exempt: 'none',
    test_clock: null,
  }
  account.objects.add(update(customer, fields))
  emit(account, 'customer.created', customer)
  return customer
}

function update(customer: Stripe.Customer, fields: Fields): Stripe.Customer {
  const email = fields['email']
  if (email !== undefined && email !== '' && !/^\S+@\S+$/.test(asText(email))) {
    throw badField(`Invalid email address: ${asText(email)}`, 'email', 'email_invalid')
  }
  for (const key of ['email', 'name', 'description', 'phone'] as const) {
    if (fields[key] !== undefined) customer[key] = asText(fields[key]) || null
  }
  Object.assign(customer.metadata, metadataOf(fields['metadata']))
  const method = asText(asFields(fields['invoice_settings'])['default_payment_method'])
  if (method) customer.invoice_settings.default_payment_method = method
  return customer
}

function remove(account: StripeAccount, id: string): Stripe.DeletedCustomer {
  const gone = customerOf(account, id)
  for (const method of account.objects.list('payment_method')) if (method.customer === id) method.customer = null
  const deleted: Stripe.DeletedCustomer = { id, object: 'customer', deleted: true }
  account.objects.add(deleted)
  emit(account, 'customer.deleted', gone)
  return deleted
}
