import { expect } from 'chai'
import { ownerOf } from '../../../src/shared/identity/members.ts'
import type { NewCode } from '../../../src/shared/payments/codes.ts'
import { createCode, disableCode, listCodes, redeemCode } from '../../../src/shared/payments/codes.ts'
import { parseId } from '../../../src/shared/platform/ids.ts'
import type { AccountId } from '../../../src/shared/platform/ids.ts'
import { anAccount, balanceOf, mailboxes } from '../../../scripts/harness/factories.ts'
import { useBooks } from '../../support/database.ts'

describe('redemption codes', () => {
  const db = useBooks()

  const aCode = (more: Partial<NewCode> = {}) =>
    createCode(db, null, { credits: 7, maxUses: 10, expiresAt: null, creditsExpireAt: null, note: null, ...more })

  /** What came of each try: a balance, or the code of the error. */
  const redeemed = (accounts: AccountId[], code: string): Promise<(number | string)[]> =>
    Promise.all(
      accounts.map(async (id) => {
        try {
          const userId = (await ownerOf(db, id))!
          return (await redeemCode(db, mailboxes, { userId, accountId: id }, code)).balance
        } catch (error) {
          return (error as { code: string }).code
        }
      }),
    )

  it('for ten accounts give their credits to exactly ten of fifty that redeem at once', async () => {
    const { code, made } = await aCode()
    const accounts = await Promise.all(Array.from({ length: 50 }, async () => (await anAccount(db)).id))
    const came = await redeemed(accounts, code)
    expect(came.filter((one) => one === 7)).to.have.lengthOf(10)
    expect(came.filter((one) => one === 'code_used')).to.have.lengthOf(40)
    const balances = await Promise.all(accounts.map((id) => balanceOf(db, id)))
    expect(balances).to.deep.equal(came.map((one) => (one === 7 ? 7 : 0)))
    expect((await listCodes(db, 200)).find(({ id }) => id === made.id)).to.include({ uses: 10, maxUses: 10 })
  })

  it('give their credits to an account once, however often it redeems at once', async () => {
    const { code } = await aCode()
    const { id } = await anAccount(db)
    const came = await redeemed(Array<AccountId>(10).fill(id), code)
    expect(came).to.have.members([7, ...Array<string>(9).fill('code_used')])
  })

  it('give nothing once they are disabled or have expired', async () => {
    const { id } = await anAccount(db)
    const [disabled, expired] = [await aCode(), await aCode({ expiresAt: new Date(Date.now() - 1000) })]
    await disableCode(db, null, parseId('code', disabled.made.id)!)
    for (const { code } of [disabled, expired]) expect(await redeemed([id], code)).to.deep.equal(['invalid_code'])
  })
})
