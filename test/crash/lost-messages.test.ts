import { expect } from 'chai'
import { createSandbox } from '../../sandbox/server.ts'
import type { Sandbox } from '../../sandbox/server.ts'
import { prompted } from '../../scripts/harness/calling.ts'
import { anAccount, balanceOf } from '../../scripts/harness/factories.ts'
import { get } from '../../scripts/harness/http.ts'
import { install } from '../../scripts/harness/installation.ts'
import type { Installation } from '../../scripts/harness/installation.ts'
import { until } from '../../scripts/harness/until.ts'
import { chatCost } from '../../src/shared/terms/pricing.ts'
import { MESSAGE_PRICES, claudeAndGpt } from '../api/v1/support/message-models.ts'
import { startMessage } from '../api/v1/support/message-streams.ts'
import { expectBooksToBalance } from '../support/books.ts'
import { untilEnded } from '../support/crash.ts'

const FUNDS = 100_000

/** Until the queue has missed a worker, its web process has had its time, and a refund was made; in ms. */
const LONGEST_MS = 60_000

describe('a message whose worker is killed', () => {
  let sandbox: Sandbox
  let town: Installation
  before(async () => {
    sandbox = await createSandbox({})
    town = await install(sandbox, {}, {}, claudeAndGpt)
  })
  after(async () => {
    await town.end()
    await sandbox.close()
  })
  afterEach(() => expectBooksToBalance(town.db))

  it('is paid as far as it was delivered, and given back where nothing was, over either kind of upstream', async () => {
    const [web, victim] = await Promise.all([town.start('web'), town.start('worker')])
    const scenes = await Promise.all(
      ['claude', 'gpt'].flatMap((model) =>
        ['[tokens 60] [hang-after 20]', '[hang]'].map(async (words) => {
          const account = await anAccount(town.db, FUNDS)
          const prompt = prompted(words)
          const body = { model, max_tokens: 128_000, messages: [{ role: 'user', content: prompt }] }
          // An answer without a word begins when its call ends.
          const stream = startMessage(web, account, body)
          if (words === '[hang]') await until('its upstream to have it', () => sandbox.open(prompt).open === 1)
          else await stream.then(({ words: read }) => until('all words', () => read().split(' ').length >= 20))
          return { account, stream, hangs: words === '[hang]' }
        }),
      ),
    )
    await victim.kill()
    await town.start('worker')
    for (const { account, stream, hangs } of scenes) {
      const read = await stream
      await read.ended
      const [call] = await untilEnded(town.db, account.id, LONGEST_MS)
      if (hangs) {
        expect(call).to.include({ status: 'failed', credits: 0 })
        expect(await balanceOf(town.db, account.id)).to.equal(FUNDS)
        continue
      }
      const output = Math.ceil(Buffer.byteLength(read.words()) / 3)
      const [delta, stop] = read.events().slice(-2)
      expect(stop).to.deep.equal({ type: 'message_stop' })
      expect(delta!.delta).to.include({ stop_reason: 'max_tokens' })
      const { input_tokens: input, output_tokens: settled, credits } = delta!.usage!
      expect(settled).to.equal(output)
      expect(credits).to.equal(chatCost(MESSAGE_PRICES, { input: input!, output }))
      expect(await balanceOf(town.db, account.id)).to.equal(FUNDS - credits!)
      const kept = await get(`${web.url}/v1/calls/${read.headers.get('x-call-id')}`, account.key)
      expect(kept.json).to.deep.include({ type: 'message', stop_reason: 'max_tokens' })
      expect(kept.json.content).to.deep.equal([{ type: 'text', text: read.words() }])
    }
  }).timeout(180_000)
})
