import { expect } from 'chai'
import { useGateway } from '../support/gateway.ts'
import { balanceOf } from '../../scripts/harness/factories.ts'
import type { TestAccount } from '../../scripts/harness/factories.ts'
import { until } from '../../scripts/harness/until.ts'
import type { Reply } from '../../scripts/harness/http.ts'
import { movementsOf, prompted, recordOf } from '../../scripts/harness/calling.ts'
import { FUNDS, aFundedAccount, ask, everyProtocol, targetsOf } from './support/targets.ts'
import type { Delivery, Target } from './support/targets.ts'

/** `says`: the message of the failure. `bill`: how often it is sent, and billed. */
type Scenario = {
  does: string
  words: string
  at: Target[]
  /** With a deadline of a few seconds, because only that ends the call. */
  hasty?: true
  says: RegExp
  bill: [sent: number, billed: number]
}

const TASKS = targetsOf('task')
const FAL: Target = { protocol: 'fal', modality: 'image' }
const FAILED: Record<Delivery, Pick<Scenario, 'says' | 'bill'>> = {
  chat: { says: /failed \(HTTP 500\)/, bill: [2, 0] },
  direct: { says: /failed \(HTTP 500\)/, bill: [1, 0] },
  task: { says: /could not produce/, bill: [1, 1] },
}

/**
 * How each way of delivery ends. How each protocol tells of its failures is proven in test/workers/upstreams, what is
 * refunded in test/shared/calls, and the work of each protocol through all processes in test/crash/lost-calls.test.ts.
 */
const SCENARIOS: Scenario[] = [
  { does: 'never finishes the task', words: '[stuck]', at: TASKS, hasty: true, says: /in time/, bill: [1, 1] },
  { does: 'sends half of the file', words: '[content-cut]', at: [FAL], hasty: true, says: /in time/, bill: [1, 1] },
  { does: 'falls silent in the file', words: '[content-hang]', at: [FAL], hasty: true, says: /in time/, bill: [1, 1] },
  ...(['chat', 'direct', 'task'] as const).map((delivery): Scenario => ({
    does: 'fails',
    words: '[fail]',
    at: targetsOf(delivery).slice(0, 1),
    ...FAILED[delivery],
  })),
  {
    does: 'has a file of more bytes than any may have',
    words: '[big 600]',
    at: [FAL],
    says: /^The result was not fetched: The file is larger than/,
    bill: [1, 1],
  },
]

/** One call of the table, and its outcome. */
type Played = { account: TestAccount; prompt: string; reply: Reply }
type Row = { scenario: Scenario; target: Target }

describe('a call through the whole system', () => {
  const gateway = useGateway({ IMAGE_CONCURRENCY: '100', VIDEO_CONCURRENCY: '100', ACCOUNT_SHARE: '1' }, everyProtocol)
  const played = new Map<string, Promise<Played>>()
  const rows = SCENARIOS.flatMap((scenario) => scenario.at.map((target): Row => ({ scenario, target })))
  const nameOf = ({ target: { protocol, modality }, scenario: { does } }: Row): string =>
    `${protocol} ${modality}, where the upstream ${does}`

  async function play({ target, scenario }: Row): Promise<Played> {
    const [account, prompt] = [await aFundedAccount(gateway), prompted(scenario.words)]
    const reply = await ask(gateway, account, target, prompt, scenario.hasty && { prefix: 'hasty-' })
    return { account, prompt, reply }
  }

  // All calls of the table run at once; each test waits for its own.
  before(() => {
    for (const row of rows) {
      const playing = play(row)
      playing.catch(() => {})
      played.set(nameOf(row), playing)
    }
  })

  for (const row of rows) {
    const { says, bill } = row.scenario
    it(`ends with its error and all credits given back: ${nameOf(row)}`, async () => {
      const { account, prompt, reply } = await played.get(nameOf(row))!
      const submissions = gateway.sandbox
        .journal(prompt)
        .filter(({ method, path }) => method === 'POST' && !path.endsWith('/cancel'))
      expect([submissions.length, gateway.sandbox.billed(prompt).total], reply.text).to.deep.equal(bill)
      const failed = { httpStatus: 502, errorType: 'upstream_failed' }
      expect(reply.status, reply.text).to.equal(failed.httpStatus)
      expect(reply.json.error).to.include({ type: failed.errorType, code: failed.errorType })
      expect(reply.json.error.message)
        .to.match(says)
        .and.to.match(/refunded/)
      expect(await balanceOf(gateway.db, account.id)).to.equal(FUNDS)
      const record = await recordOf(gateway.db, reply)
      expect(record).to.include({ status: 'failed', ...failed, credits: 0, creditsUncollected: 0 })
      const { creditsPrecharged: held } = record
      expect(await movementsOf(gateway.db, reply)).to.deep.equal([`charge -${held}`, `refund ${held}`])
    })
  }

  for (const target of TASKS) {
    const canBeStopped = target.protocol !== 'openrouter'
    const verb = canBeStopped ? 'stops' : 'cannot stop'
    it(`${verb} a task of ${target.protocol} ${target.modality} whose call has ended`, async () => {
      const { prompt } = await played.get(nameOf({ target, scenario: SCENARIOS[0]! }))!
      const end = canBeStopped ? 'cancelled' : 'answered'
      await until('the end of the task', () => gateway.sandbox.billed(prompt).entries[0]?.outcome === end)
    })
  }
})
