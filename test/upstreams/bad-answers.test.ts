import { expect } from 'chai'
import { expectBooksToBalance } from '../support/books.ts'
import { balanceOf } from '../../scripts/harness/factories.ts'
import type { TestAccount } from '../../scripts/harness/factories.ts'
import type { Gateway } from '../../scripts/harness/harness.ts'
import { startGateway } from '../../scripts/harness/harness.ts'
import type { Reply } from '../../scripts/harness/http.ts'
import { prompted, recordOf } from '../../scripts/harness/calling.ts'
import type { Listening } from '../workers/fetching/servers.ts'
import { startCanary } from './support/canary.ts'
import { HASTY_SECONDS, FUNDS, aFundedAccount, ask, deliveryOf, everyProtocol } from './support/targets.ts'
import type { Delivery, Target } from './support/targets.ts'

/** A bad answer, the deliveries in which it can occur, and the message that the customer gets. */
type Bad = {
  is: string
  words: string | ((canary: string) => string)
  in: Delivery[]
  says: RegExp | Partial<Record<Delivery, RegExp>>
}

/** The longest time of a call to a hasty model, in ms, beyond what the slowest of the others takes: its deadline. */
const LIMIT_MS = HASTY_SECONDS * 1000 + 10_000

const ALL: Delivery[] = ['chat', 'direct', 'task']
const MEDIA: Delivery[] = ['direct', 'task']
const NONSENSE = /^The upstream failed\./
const NOT_PUBLIC = /^The result was not fetched: The address leads into a network that is not public\./
const NO_MEDIA = /^The result was refused: The file is no (PNG|MP4)/

const BAD: Bad[] = [
  { is: 'dripped byte by byte', words: '[drip 40]', in: ['chat', 'direct'], says: /in time/ },
  { is: 'begun and never continued', words: '[hang-body]', in: ALL, says: /in time/ },
  { is: 'of 100 MB', words: '[big 100]', in: ['direct'], says: NONSENSE },
  { is: 'a page of HTML', words: '[garbage]', in: ALL, says: NONSENSE },
  { is: 'cut in the middle', words: '[truncated]', in: ALL, says: NONSENSE },
  { is: 'empty', words: '[empty]', in: ['chat', 'direct'], says: NONSENSE },
  { is: 'a task without a result', words: '[empty]', in: ['task'], says: /could not produce|The result was refused/ },
  {
    is: 'a redirect into the private network',
    words: (canary) => `[redirect ${canary}/x]`,
    in: ALL,
    says: { chat: /refused the request \(HTTP 302\)/, direct: /refused the request \(HTTP 302\)/, task: NOT_PUBLIC },
  },
  { is: 'an SVG or a page in place of media', words: '[wrong-type]', in: MEDIA, says: NO_MEDIA },
  { is: 'an SVG or a page under the type of media', words: '[lying-type]', in: MEDIA, says: NO_MEDIA },
  { is: 'media that do not decode', words: '[broken-image]', in: MEDIA, says: /^The result was refused: / },
  {
    is: 'an address in the private network',
    words: (canary) => `[result-url ${canary}/x.png]`,
    in: ['task'],
    says: NOT_PUBLIC,
  },
  {
    is: 'a file of more bytes than any may have',
    words: '[big 600]',
    in: ['task'],
    says: /^The result was not fetched: The file is larger than/,
  },
  { is: 'a file that breaks off halfway', words: '[content-cut]', in: ['task'], says: /in time/ },
  { is: 'a file that falls silent halfway', words: '[content-hang]', in: ['task'], says: /in time/ },
]

const saying = ({ says }: Bad, target: Target): RegExp => (says instanceof RegExp ? says : says[deliveryOf(target)]!)

/**
 * Whether only the deadline ends such a call. All others use a model with a long deadline: on a slow machine a short
 * one would expire before the fault.
 */
const endsByDeadline = (bad: Bad, target: Target): boolean => saying(bad, target).source.includes('in time')

/** One of each delivery; test/workers/upstreams has the failures of every protocol. */
const TARGETS: Target[] = [
  { protocol: 'openai', modality: 'chat' },
  { protocol: 'openai', modality: 'image' },
  { protocol: 'fal', modality: 'image' },
  { protocol: 'replicate', modality: 'video' },
]

type Played = { account: TestAccount; ms: number; reply: Reply }

describe('an upstream whose answer is bad', function () {
  let gateway: Gateway
  let canary: Listening
  let usualMs = 0
  const calls = new Map<string, Promise<Played>>()
  const rows = BAD.flatMap((bad) =>
    TARGETS.filter((target) => bad.in.includes(deliveryOf(target))).map((target) => ({ bad, target })),
  )
  const nameOf = ({ protocol, modality }: Target, { is }: Bad): string => `${protocol} ${modality} ${is}`

  async function play(bad: Bad, target: Target): Promise<Played> {
    const { words } = bad
    const account = await aFundedAccount(gateway)
    const prompt = prompted(typeof words === 'string' ? words : words(canary.origin))
    const begunAt = performance.now()
    const reply = await ask(gateway, account, target, prompt, endsByDeadline(bad, target) ? { prefix: 'hasty-' } : {})
    return { account, reply, ms: performance.now() - begunAt }
  }

  before(async () => {
    gateway = await startGateway({ IMAGE_CONCURRENCY: '100', ACCOUNT_SHARE: '1' }, everyProtocol)
    canary = await startCanary()
    for (const { bad, target } of rows) calls.set(nameOf(target, bad), play(bad, target))
    await Promise.all(calls.values())
    const others = rows.filter(({ bad, target }) => !endsByDeadline(bad, target))
    const played = await Promise.all(others.map(({ bad, target }) => calls.get(nameOf(target, bad))!))
    usualMs = Math.max(...played.map(({ ms }) => ms))
  })
  after(async () => {
    await gateway.stop()
    await canary.close()
  })

  for (const { bad, target } of rows) {
    it(`is not paid for an answer that is ${bad.is}: ${target.protocol} ${target.modality}`, async () => {
      const { account, reply, ms } = await calls.get(nameOf(target, bad))!
      expect(reply.status, reply.text).to.equal(502)
      expect(reply.json.error.type).to.equal('upstream_failed')
      expect(reply.json.error.message)
        .to.match(saying(bad, target))
        .and.to.match(/refunded/)
      if (endsByDeadline(bad, target)) expect(ms).to.be.below(LIMIT_MS + usualMs)
      expect(await balanceOf(gateway.db, account.id)).to.equal(FUNDS)
      expect(await recordOf(gateway.db, reply)).to.include({ status: 'failed', credits: 0 })
    })
  }

  it('is never followed into the private network', () => {
    expect(canary.connections()).to.equal(0)
  })

  it('leaves the books balanced', () => expectBooksToBalance(gateway.db))
})
