import { expect } from 'chai'
import type { Db } from '../../../src/shared/infra/db.ts'
import type { CallId } from '../../../src/shared/ids.ts'
import { newId, publicId } from '../../../src/shared/ids.ts'
import { requestMail } from '../../../src/shared/mail/mails.ts'
import type { Client } from './described.ts'

/** Does everything that an operator can. There is to be a call that succeeded. */
export async function operate(chief: Client, db: Db): Promise<void> {
  const id = newId('mail')
  await requestMail(db, { id, kind: 'reset', recipient: 'lost@example.com', userId: null })
  await db('mails').where({ id }).update({ status: 'dead', note: 'refused', finished_at: db.fn.now() })
  const mails = await chief('GET', '/api/operator/mails')
  await chief('POST', `/api/operator/mails/${mails.json.data[0].id}/retry`)
  const call = await db('calls').where({ status: 'succeeded' }).first<{ id: CallId }>('id')
  const { account } = (await chief('GET', `/api/operator/calls/${publicId('call', call.id)}`)).json
  const file = `/api/operator/accounts/${account.id}`
  await chief('POST', `${file}/grants`, { amount: 5, origin: 'bonus', note: 'sorry', expiresAt: '2999-12-31' })
  await chief('POST', `${file}/suspend`)
  await chief('POST', `${file}/activate`)
  expect((await chief('GET', file)).json.actions).to.have.lengthOf(3)
  await chief('GET', `/api/operator/accounts?search=${encodeURIComponent(account.email as string)}`)
  await chief('GET', '/api/operator/upstreams')
  await chief('GET', '/api/operator/actions')
}
