import type Stripe from 'stripe'
import { originOf } from '../exchange.ts'
import type { Exchange, Protocol } from '../exchange.ts'
import { Refusal } from '../wire.ts'
import { CARDS, isCard } from './cards.ts'
import { dueSession } from './checkout.ts'
import { stripeError } from './errors.ts'
import { html, shown } from './markup.ts'
import type { Markup } from './markup.ts'
import { LATER, pay, returnUrl } from './paying.ts'
import type { Paid, Payment } from './paying.ts'
import type { StripeAccount } from './account.ts'

/** The checkout page and the receipt. Anyone who has the address can open them. */
export const stripePages: Protocol = {
  name: 'stripe-pages',
  envelope: stripeError,
  outOfCredit: { status: 402, message: 'Out of credit.' },
  routes: [
    { method: 'GET', path: '/stripe/pay/:id', handle: (exchange) => showPage(exchange) },
    { method: 'POST', path: '/stripe/pay/:id', handle: (exchange) => takePayment(exchange) },
    { method: 'GET', path: '/stripe/receipts/:id', handle: (exchange) => showReceipt(exchange) },
  ],
}

function sessionOf(exchange: Exchange): { account: StripeAccount; session: Stripe.Checkout.Session } {
  const known = exchange.state.stripe.anywhere('checkout.session', exchange.params['id']!)
  if (!known) throw new Refusal({ status: 404, message: 'There is no such page.' })
  return { account: known.account, session: dueSession(known.account, known.found) }
}

function showPage(exchange: Exchange): void {
  const { account, session } = sessionOf(exchange)
  if (session.status === 'open') return send(exchange, payPage(account, session))
  const said = session.status === 'expired' ? 'This page has expired.' : 'This order was paid for.'
  send(
    exchange,
    document(
      'Checkout',
      html`<p>${said}</p>
        <p><a href="${returnUrl(session)}">Back to the shop</a></p>`,
    ),
  )
}

function takePayment(exchange: Exchange): void {
  const { account, session } = sessionOf(exchange)
  const payment = choiceOf(exchange)
  if (session.status !== 'open') return showPage(exchange)
  const paid = pay(account, session, payment, originOf(exchange))
  exchange.state.stripe.changed()
  if (paid.outcome === 'done') {
    exchange.res.writeHead(303, { location: paid.url }).end()
    return
  }
  send(exchange, payPage(account, session, paid, payment))
}

function choiceOf({ body: { fields } }: Exchange): Payment {
  const way = String(fields['way'])
  if (!isCard(way) && !Object.hasOwn(LATER, way)) throw new Refusal({ status: 400, message: 'No such way to pay.' })
  return { way: way as Payment['way'], keep: 'keep' in fields, authenticated: 'authenticated' in fields }
}

function payPage(account: StripeAccount, session: Stripe.Checkout.Session, paid?: Paid, payment?: Payment): Markup {
  const price = shown(session.amount_total!, session.currency!)
  const what = account.lineItems.get(session.id)![0]!.description ?? ''
  const ways = Object.entries(CARDS).map(([name, { label }]) => button(name, label, name === 'card'))
  const later = Object.entries(LATER).map(([name, label]) => button(name, label))
  const saving = session.saved_payment_method_options?.payment_method_save === 'enabled' && session.customer !== null
  const keep = html`<p>
    <label
      ><input type="checkbox" name="keep" ${payment?.keep ? 'checked' : ''} /> Keep this card for later payments</label
    >
  </p>`
  return document(
    `Pay ${price}`,
    html`<p>${what}</p>
      ${paid?.outcome === 'declined' ? html`<p role="alert" class="bad">${paid.message}</p>` : ''}
      ${paid?.outcome === 'authenticate' ? authentication(payment!) : ''}
      <form method="post">${saving ? keep : ''}${ways}${later}</form>
      ${session.cancel_url ? html`<p><a href="${session.cancel_url}">Back without paying</a></p>` : ''}`,
  )
}

function authentication({ way, keep }: Payment): Markup {
  return html`<form method="post" class="asked">
    <h2>Your bank asks: is this you?</h2>
    <input
      type="hidden"
      name="authenticated"
      value="yes"
    />${keep ? html`<input type="hidden" name="keep" value="on" />` : ''}
    ${button(way, 'Yes, pay')}${button('declined', 'No')}
  </form>`
}

function button(way: string, label: string, first = false): Markup {
  return html`<button name="way" value="${way}" class="${first ? 'first' : ''}">${label}</button>`
}

function showReceipt(exchange: Exchange): void {
  const known = exchange.state.stripe.anywhere('charge', exchange.params['id']!)
  if (!known) throw new Refusal({ status: 404, message: 'There is no such receipt.' })
  const { amount, amount_refunded: refunded, currency, created } = known.found
  const at = new Date(created * 1000).toISOString().slice(0, 10)
  const back = refunded > 0 ? html`<p>Refunded: ${shown(refunded, currency)}</p>` : ''
  send(
    exchange,
    document(
      'Receipt',
      html`<p>Paid on ${at}: ${shown(amount, currency)}</p>
        ${back}`,
    ),
  )
}

function document(title: string, body: Markup): Markup {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <title>${title}</title>
        <meta name="viewport" content="width=device-width" />
        <style>
          ${STYLE}
        </style>
      </head>
      <body>
        <main>
          <p class="mark">Sandbox: no money moves here.</p>
          <h1>${title}</h1>
          ${body}
        </main>
      </body>
    </html>`
}

function send({ res }: Exchange, page: Markup): void {
  res.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' }).end(page.text)
}

const STYLE = html`body{font:16px/1.5 system-ui,sans-serif;margin:0;background:#f6f7f9;color:#1a1f36}
main{max-width:28rem;margin:2rem auto;padding:1.5rem;background:#fff;border:1px solid #d5dbe1;border-radius:8px}
h1{font-size:1.6rem;margin:.2rem 0}h2{font-size:1.1rem}.mark{color:#5a6376;margin:0}.bad{color:#a41c4e}
.asked{border:1px solid #d5dbe1;border-radius:6px;padding:0 1rem 1rem;margin-bottom:1rem}
button{display:block;width:100%;text-align:left;font:inherit;padding:.5rem .8rem;margin-top:.4rem;cursor:pointer;
background:#fff;border:1px solid #c0c8d2;border-radius:6px}.first{background:#533afd;border-color:#533afd;color:#fff}`
