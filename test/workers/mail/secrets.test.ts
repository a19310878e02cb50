import { expect } from 'chai'
import { requestReset } from '../../../src/shared/identity/password-changes.ts'
import { createTokenMint, findToken } from '../../../src/shared/identity/one-time-tokens.ts'
import type { TokenMint } from '../../../src/shared/identity/one-time-tokens.ts'
import { decide } from '../../../src/workers/mail/decide.ts'
import { connectTestDb, testDatabaseUrl } from '../../../scripts/harness/database.ts'
import { anAccount, mailboxes } from '../../../scripts/harness/factories.ts'

describe('a mail that is tried again after a change of APP_SECRET', () => {
  it('keeps its link where the old secret is known, and else has a new one that works', async () => {
    const db = connectTestDb({ DATABASE_URL: await testDatabaseUrl(), DATABASE_SSL: 'off', DATABASE_POOL: 2 })
    try {
      const { email, userId } = await anAccount(db)
      const id = await requestReset(db, email)
      const terms = { mailboxes, baseUrl: 'https://x.example', hourlyLimit: 5 }
      const mail = { id, kind: 'reset', recipient: email, userId: null, language: 'en', tries: 1, details: {} }
      const tokenOf = async (mints: { mint: TokenMint; previous?: TokenMint }): Promise<string> => {
        const decision = await decide(db, mail as never, { ...mints, ...terms })
        return /#token=([\w-]{43})/.exec('content' in decision ? decision.content.text : '')?.[1] ?? ''
      }
      const [old, fresh] = [createTokenMint('o'.repeat(32)), createTokenMint('n'.repeat(32))]
      const first = await tokenOf({ mint: old })
      expect(await tokenOf({ mint: fresh, previous: old })).to.equal(first)
      expect(await findToken(db, 'reset', first)).to.equal(userId)
      const replaced = await tokenOf({ mint: fresh })
      expect(replaced).not.to.equal(first)
      expect(await findToken(db, 'reset', replaced)).to.equal(userId)
      expect(await findToken(db, 'reset', first)).to.equal(null)
    } finally {
      await db.destroy()
    }
  })
})
