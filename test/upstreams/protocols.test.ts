import { expect } from 'chai'
import type { Sandbox } from '../../sandbox/server.ts'
import { expectBooksToBalance } from '../support/books.ts'
import { balanceOf } from '../../scripts/harness/factories.ts'
import type { TestAccount } from '../../scripts/harness/factories.ts'
import type { Gateway } from '../../scripts/harness/harness.ts'
import { startGateway } from '../../scripts/harness/harness.ts'
import { until } from '../../scripts/harness/until.ts'
import type { Reply } from '../../scripts/harness/http.ts'
import { movementsOf, prompted, recordOf } from '../../scripts/harness/calling.ts'
import {
  CHAT_COST,
  PRICES,
  FUNDS,
  TARGETS,
  aFundedAccount,
  ask,
  deliveryOf,
  everyProtocol,
  modelOf,
} from './support/targets.ts'
import type { APART, Delivery, Target } from './support/targets.ts'

/** How often the work was requested, and how often a provider would bill it. */
type Bill = { sent: number; billed: number }

type Scenario = {
  /** What the upstream does, for the title of the test. */
  does: string
  words: string
  /** With a deadline of a few seconds, because only that ends the call. */
  hasty?: true
  /** At an upstream of its own, whose only key takes no requests after a failure: that is 503. */
  apart?: (typeof APART)[number]
  /** The public message of the failure; undefined if the call succeeds. */
  says?: Record<Delivery, RegExp> | RegExp
  bill: Record<Delivery, Bill>
  only?: Delivery
}

const same = (sent: number, billed: number): Scenario['bill'] => ({
  chat: { sent, billed },
  direct: { sent, billed },
  task: { sent, billed },
})

/**
 * A chat may be sent again once if its outcome is unknown; images and videos never, because the second submission could
 * be a second bill (docs/architecture.md#sending-to-upstreams).
 */
const SCENARIOS: Scenario[] = [
  {
    does: 'falls silent before its headers',
    words: '[hang]',
    hasty: true,
    says: /did not answer in time/,
    bill: same(1, 1),
  },
  {
    does: 'falls silent behind its headers',
    words: '[hang-body]',
    hasty: true,
    says: /did not answer in time/,
    bill: same(1, 1),
  },
  {
    does: 'never finishes the task',
    words: '[stuck]',
    hasty: true,
    says: /did not (answer|finish) in time/,
    bill: same(1, 1),
    only: 'task',
  },
  { does: 'does the work', words: '[usage 100 50]', bill: same(1, 1) },
  {
    does: 'fails',
    words: '[fail]',
    says: { chat: /failed \(HTTP 500\)/, direct: /failed \(HTTP 500\)/, task: /could not produce/ },
    bill: { chat: { sent: 2, billed: 0 }, direct: { sent: 1, billed: 0 }, task: { sent: 1, billed: 1 } },
  },
  { does: 'refuses the request', words: '[status 422]', says: /refused the request \(HTTP 422\)/, bill: same(1, 0) },
  {
    does: 'has no credit left for us',
    words: '[quota]',
    apart: 'quota-',
    says: /refused the request/,
    bill: same(1, 0),
  },
  {
    does: 'rate-limits us twice',
    words: '[fail-times 2 429] [usage 100 50]',
    apart: 'passing-',
    bill: same(3, 1),
  },
  {
    does: 'rate-limits us for good',
    words: '[status 429]',
    apart: 'limited-',
    says: /rate-limiting us \(HTTP 429\)/,
    bill: same(3, 0),
  },
  { does: 'is overloaded', words: '[status 503]', says: /overloaded \(HTTP 503\)/, bill: same(3, 0) },
  {
    does: 'breaks off behind the request',
    words: '[reset]',
    says: /failed/,
    bill: { chat: { sent: 2, billed: 2 }, direct: { sent: 1, billed: 1 }, task: { sent: 1, billed: 1 } },
  },
]

/** One call of the table, and its outcome. */
type Played = { account: TestAccount; prompt: string; reply: Reply; bill: Bill }

/** The requests for work, without polls and cancellations. */
function billOf(sandbox: Sandbox, prompt: string): Bill {
  const submissions = sandbox
    .journal(prompt)
    .filter(({ method, path }) => method === 'POST' && !path.endsWith('/cancel'))
  return { sent: submissions.length, billed: sandbox.billed(prompt).total }
}

describe('a call through the whole system', () => {
  let gateway: Gateway
  const played = new Map<string, Promise<Played>>()
  const rows = SCENARIOS.flatMap((scenario) => TARGETS.map((target) => ({ scenario, target }))).filter(
    ({ scenario, target }) => scenario.only === undefined || scenario.only === deliveryOf(target),
  )
  const nameOf = ({ protocol, modality }: Target, { does }: Scenario): string => `${protocol} ${modality} ${does}`

  async function play(target: Target, scenario: Scenario, prompt: string): Promise<Played> {
    const account = await aFundedAccount(gateway)
    const reply = await ask(gateway, account, target, prompt, { prefix: scenario.hasty ? 'hasty-' : scenario.apart })
    return { account, prompt, reply, bill: billOf(gateway.sandbox, prompt) }
  }

  // All calls of the table run at once; each test waits for its own.
  before(async () => {
    gateway = await startGateway(
      { IMAGE_CONCURRENCY: '100', VIDEO_CONCURRENCY: '100', ACCOUNT_SHARE: '1' },
      everyProtocol,
    )
    const begin = (hasty: boolean) =>
      rows
        .filter(({ scenario }) => Boolean(scenario.hasty) === hasty)
        .map(({ scenario, target }) => {
          const prompt = prompted(scenario.words)
          const playing = play(target, scenario, prompt)
          playing.catch(() => {})
          played.set(nameOf(target, scenario), playing)
          return prompt
        })
    const hasty = begin(true)
    await until('the hasty calls reaching the sandbox', () =>
      hasty.every((prompt) => gateway.sandbox.billed(prompt).total > 0),
    )
    begin(false)
  })
  after(() => gateway.stop())

  for (const { scenario, target } of rows) {
    const outcome = scenario.says
      ? 'ends with its error and all credits given back'
      : 'ends with its result at its price'
    it(`${outcome}: ${target.protocol} ${target.modality}, where the upstream ${scenario.does}`, async () => {
      const delivery = deliveryOf(target)
      const { account, reply, bill } = await played.get(nameOf(target, scenario))!
      expect(bill, reply.text).to.deep.equal(scenario.bill[delivery])
      if (scenario.says) await expectFailure(account, reply, scenario, delivery)
      else await expectSuccess(account, reply, target, scenario)
    })
  }

  it('leaves the books balanced after all of them', async () => {
    await Promise.all(played.values())
    await expectBooksToBalance(gateway.db)
  })

  for (const target of TARGETS.filter((one) => deliveryOf(one) === 'task')) {
    const canBeStopped = target.protocol !== 'openrouter'
    const verb = canBeStopped ? 'stops' : 'cannot stop'
    it(`${verb} a task of ${target.protocol} ${target.modality} whose call has ended`, async () => {
      const { prompt } = await played.get(
        nameOf(
          target,
          SCENARIOS.find(({ words }) => words === '[stuck]')!,
        ),
      )!
      await until(
        'the end of the task',
        () => gateway.sandbox.billed(prompt).entries[0]?.outcome === (canBeStopped ? 'cancelled' : 'answered'),
      )
    })
  }

  async function expectFailure(
    account: TestAccount,
    reply: Reply,
    { says, apart }: Scenario,
    delivery: Delivery,
  ): Promise<void> {
    const [httpStatus, errorType] = apart ? [503, 'upstream_unavailable'] : [502, 'upstream_failed']
    expect(reply.status, reply.text).to.equal(httpStatus)
    expect(reply.json.error).to.include({ type: errorType, code: errorType })
    expect(reply.json.error.message)
      .to.match(says instanceof RegExp ? says : says![delivery])
      .and.to.match(/refunded/)
    expect(await balanceOf(gateway.db, account.id)).to.equal(FUNDS)
    const record = await recordOf(gateway.db, reply)
    expect(record).to.include({
      status: 'failed',
      httpStatus,
      errorType,
      credits: 0,
      creditsUncollected: 0,
    })
    const [charge, refund, ...others] = await movementsOf(gateway.db, reply)
    expect([charge, refund]).to.deep.equal([
      `charge -${record.creditsPrecharged}`,
      `refund ${record.creditsPrecharged}`,
    ])
    expect(others).to.deep.equal([])
  }

  async function expectSuccess(
    account: TestAccount,
    reply: Reply,
    target: Target,
    { apart, words }: Scenario,
  ): Promise<void> {
    const { protocol, modality } = target
    expect(reply.status, reply.text).to.equal(200)
    const cost = modality === 'chat' ? CHAT_COST : PRICES[modality]
    expect(reply.json.usage).to.include({ credits: cost, balance: FUNDS - cost })
    expect(await balanceOf(gateway.db, account.id)).to.equal(FUNDS - cost)
    const record = await recordOf(gateway.db, reply)
    expect(record).to.include({
      status: 'succeeded',
      httpStatus: 200,
      credits: cost,
      upstream: apart ? modelOf(target, apart) : protocol,
      model: modelOf(target, apart),
      attempts: words.includes('[fail-times 2') ? 3 : 1,
    })
    const settled = modality === 'chat' ? [`settlement ${record.creditsPrecharged - cost}`] : []
    expect(await movementsOf(gateway.db, reply)).to.deep.equal([`charge -${record.creditsPrecharged}`, ...settled])
    if (modality === 'chat') expect(reply.json.choices[0].message.content).to.be.a('string').that.is.not.empty
    else
      expect((await fetch(mediaOf(reply))).headers.get('content-type')).to.equal(
        modality === 'image' ? 'image/png' : 'video/mp4',
      )
  }

  /** The address of a result, on the port of this test's web process. */
  const mediaOf = (reply: Reply): string => `${gateway.url}${new URL(reply.json.data[0].url).pathname}`
})
