import { expect } from 'chai'
import { callsOf } from '../../support/crash.ts'
import { neverReads } from '../../support/stored-answers.ts'
import { CHAT } from '../../../scripts/harness/calling.ts'
import { anAccount, balanceOf } from '../../../scripts/harness/factories.ts'
import { until } from '../../../scripts/harness/until.ts'
import type { Program } from '../../../scripts/harness/installation.ts'
import { ownMb } from '../../../scripts/harness/memory.ts'
import { useInstallation } from '../../support/installed.ts'

const MEGABYTE = 1024 * 1024

/**
 * The size of the answer, far more than a reader may leave unread, and of what may be produced until the upstream is
 * stopped. In MB.
 */
const ANSWER_MB = 200
const PRODUCED_MB = 64

/**
 * How much more memory than at rest the web process may use, in MB: several times what one reader may leave unread.
 */
const MOST_MB = 120

const START_CREDITS = 1_000_000

describe('a chat stream whose reader never reads', () => {
  const own = useInstallation({ MAX_ANSWER_BYTES: String(ANSWER_MB * MEGABYTE) })
  let web: Program
  before(async () => {
    ;[web] = await Promise.all([own.start('web'), own.start('worker')])
  })

  it('is cut off within bounded memory, stops its upstream, and is settled like an abandoned one', async () => {
    const { db, sandbox } = own
    const account = await anAccount(db, START_CREDITS)
    const atRest = ownMb(web.pid)
    let most = 0
    const body = {
      model: 'sandbox-chat',
      stream: true,
      messages: [{ role: 'user', content: `never read [big ${ANSWER_MB}] [chunks 2000 30]` }],
    }
    const reader = await neverReads(web.url, CHAT, account, body)
    const call = await until(
      'the end of its call',
      async () => {
        most = Math.max(most, ownMb(web.pid) - atRest)
        const [row] = await callsOf(db, account.id)
        return row?.finished_at ? (row as typeof row & { input_tokens: number; output_tokens: number }) : null
      },
      90_000,
    )
    reader.destroy()
    expect(call.status).to.equal('succeeded')
    expect(sandbox.billed('never read').total).to.equal(1)
    expect(call.output_tokens * 3, 'bytes produced').to.be.within(1, PRODUCED_MB * MEGABYTE)
    const cost = Math.ceil((call.input_tokens + call.output_tokens * 3) / 1000)
    expect(call.credits).to.equal(cost)
    expect(START_CREDITS - (await balanceOf(db, account.id)), 'paid').to.equal(cost)
    expect(most, 'MB more than at rest').to.be.below(MOST_MB)
    // It streams hundreds of megabytes.
  }).timeout(150_000)
})
