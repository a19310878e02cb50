import { expect } from 'chai'
import type { Trx } from '../../../src/shared/platform/postgres/db.ts'
import { newId } from '../../../src/shared/platform/ids.ts'
import { grant } from '../../../src/shared/ledger/ledger.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { prompted } from '../../../scripts/harness/calling.ts'
import { untilItWaits } from '../../support/lock-waits.ts'
import { useGateway } from '../../support/gateway.ts'
import type { Caller } from '../../support/caller.ts'

describe('a change between the checks of a call and its charge', () => {
  const gateway = useGateway()
  let account: Caller
  beforeEach(async () => {
    account = await gateway.account(40)
  })

  /**
   * Locks the account while a call passes its checks and waits to be charged, changes something, and lets the call
   * continue.
   */
  async function changedMeanwhile(prompt: string, change: (trx: Trx) => Promise<unknown>): Promise<Reply> {
    const { reply } = await gateway.db.transaction(async (trx) => {
      await trx('accounts').where({ id: account.id }).forUpdate().first('id')
      const sent = account.image(prompt)
      await untilItWaits(gateway.db, '%open_calls%')
      await change(trx)
      return { reply: sent }
    })
    return reply
  }

  it('a suspension still refuses it, uncharged', async () => {
    const prompt = prompted()
    const reply = await changedMeanwhile(prompt, (trx) =>
      trx('accounts').where({ id: account.id }).update({ status: 'suspended' }),
    )
    expect([reply.status, reply.json.error.type]).to.deep.equal([403, 'account_suspended'])
    expect(gateway.sandbox.journal(prompt)).to.deep.equal([])
    expect(await account.counts()).to.deep.equal({ calls: 1, charged: 0, entries: 1 })
  })

  it('a revocation of its key still refuses it, uncharged', async () => {
    const reply = await changedMeanwhile(prompted(), (trx) =>
      trx('api_keys').where({ id: account.keyId }).update({ revoked_at: trx.fn.now() }),
    )
    expect([reply.status, reply.json.error.type]).to.deep.equal([401, 'unauthorized'])
    expect(await account.balance()).to.equal(40)
    expect(reply.headers.get('x-call-id'), "nobody's call").to.equal(null)
    expect(await account.counts()).to.include({ calls: 0 })
  })

  it('credits that arrive in time pay for it, and expired ones do not', async () => {
    account = await gateway.account(39)
    const paid = await changedMeanwhile(prompted(), (trx) =>
      grant(trx, { id: newId('grant'), accountId: account.id, origin: 'purchase', amount: 1 }),
    )
    expect(paid.json.usage, paid.text).to.include({ credits: 40, balance: 0 })
    account = await gateway.account([{ amount: 40, days: 1 }])
    const late = await changedMeanwhile(prompted(), (trx) =>
      trx('grants')
        .where({ id: account.grants[0] })
        .update({ expires_at: trx.raw("now() - interval '1 second'") }),
    )
    expect(late.status).to.equal(402)
  })
})
