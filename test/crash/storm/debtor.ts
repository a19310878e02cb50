import { expect } from 'chai'
import { randomUUID } from 'node:crypto'
import type { Db } from '../../../src/shared/platform/postgres/db.ts'
import { aGrant } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import { untilEnded } from '../../support/crash.ts'
import { post } from '../../../scripts/harness/http.ts'
import type { Reply } from '../../../scripts/harness/http.ts'

/**
 * What the debtor has at first, and gets whenever a call is refused. A call costs 61, of which 31 are charged first.
 */
export const DEBTOR_CREDITS = 40
const GIVEN = 90

/**
 * A client whose calls cost twice their charge: it gets into debt, repays it with its next credits, and
 * continues.
 */
export class Debtor {
  private readonly db: Db
  private readonly account: TestAccount
  private readonly url: () => string | undefined

  /** @param url where a web process listens, if any does. */
  constructor(db: Db, account: TestAccount, url: () => string | undefined) {
    this.db = db
    this.account = account
    this.url = url
  }

  /**
   * Requests chats until it is stopped and has repaid debt at least once. A grant alone need not repay: it may come
   * while the calls of a dead process have yet to end.
   */
  async run(goesOn: () => boolean): Promise<void> {
    while (goesOn() || (await this.repaid()) === 0) {
      const reply = await this.ask()
      if (reply?.status === 402) await aGrant(this.db, this.account.id, { amount: GIVEN })
      else if (reply === null)
        await new Promise((resolve) => {
          setTimeout(resolve, 50)
        })
      else expect(reply.status, reply.text).to.be.oneOf([200, 502, 503])
    }
  }

  private async ask(): Promise<Reply | null> {
    const url = this.url()
    if (url === undefined) return null
    const body = {
      model: 'sandbox-chat',
      messages: [{ role: 'user', content: `debtor ${randomUUID()} [usage 100 20000]` }],
      max_tokens: 10_000,
    }
    return await post(`${url}/v1/chat/completions`, this.account.key, body).catch(() => null)
  }

  /** Waits until its calls have ended, and checks that it owed and repaid. @returns the credits that it has repaid. */
  async checkOutcome(): Promise<number> {
    await untilEnded(this.db, this.account.id)
    const { left } = await this.db('calls')
      .where({ account_id: this.account.id })
      .sum({ left: 'credits_uncollected' })
      .first<{ left: number }>()
    const repaid = await this.repaid()
    expect(Number(left), 'credits that could not be collected').to.be.at.least(1)
    expect(repaid, 'credits of debt that were repaid').to.be.at.least(1)
    return repaid
  }

  private async repaid(): Promise<number> {
    const { collected } = await this.db('ledger_entries')
      .where({ account_id: this.account.id, kind: 'collection' })
      .sum({ collected: 'amount' })
      .first<{ collected: number | null }>()
    return Math.abs(Number(collected))
  }
}
