import { expect } from 'chai'
import { prompted } from '../../../scripts/harness/calling.ts'
import { aMember, anOrganisation } from '../../../scripts/harness/factories.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import { changeKey } from '../../../src/shared/identity/key-limits.ts'
import { outstandingOf } from '../../shared/calls/opening.ts'
import { callerOf } from '../../support/caller.ts'
import type { Caller } from '../../support/caller.ts'
import { claudeAndGpt } from './support/message-models.ts'
import { useGateway } from '../../support/gateway.ts'

/** The most output that an agent asks for. */
const AGENTS_LIMIT = 64_000

const user = (content: string) => [{ role: 'user' as const, content }]

/** Calls of each dialect, and how one is refused that waits for credits. */
const KINDS = {
  messages: {
    path: '/v1/messages',
    body: (content: string, limit: number) => ({ model: 'claude', max_tokens: limit, messages: user(content) }),
    refused: [429, 'rate_limit_error', undefined],
  },
  gemini: {
    path: '/v1beta/models/gpt:generateContent',
    body: (content: string, limit: number) => ({
      contents: [{ parts: [{ text: content }] }],
      generationConfig: { maxOutputTokens: limit },
    }),
    refused: [429, undefined, 429],
  },
  chat: {
    path: '/v1/chat/completions',
    body: (content: string, limit: number) => ({ model: 'gpt', max_tokens: limit, messages: user(content) }),
    refused: [402, 'insufficient_credits', 'insufficient_credits'],
  },
} as const
type Kind = keyof typeof KINDS

// What a lowered limit holds: calls/credit-limit.test.ts. Mails about budgets: test/shared/calls/budget-mails.test.ts.
describe('credits that running calls hold', () => {
  const gateway = useGateway({}, claudeAndGpt)

  const send = (kind: Kind, { post }: Caller, content: string, limit: number): Promise<Reply> =>
    post(KINDS[kind].path, KINDS[kind].body(content, limit))

  /** Runs `during` while a call of this kind runs that holds what it may, and returns how that call was answered. */
  async function whileRunning(kind: Kind, account: Caller, limit: number, during: () => Promise<void>): Promise<Reply> {
    // Two words, because a stream is held after its first chunk.
    const prompt = prompted('[answer all right] [hold]')
    const open = await outstandingOf(gateway.db, account.id)
    const reply = send(kind, account, prompt, limit)
    await until('it runs', async () => (await outstandingOf(gateway.db, account.id)) === open + 1)
    await until('its upstream has it', () => gateway.sandbox.journal(prompt).length > 0)
    await during().finally(() => gateway.sandbox.release(prompt))
    return reply
  }

  const shown = ({ status, json }: Reply) => [status, json.error.type, json.error.code]
  const retried = ({ headers }: Reply) => [headers.get('retry-after'), headers.get('x-should-retry')]

  for (const kind of Object.keys(KINDS) as Kind[])
    it(`let ${kind} that could be paid without them wait, and refuse for good what could not`, async () => {
      const account = await gateway.account(13_000)
      await whileRunning('chat', account, 4200, async () => {
        const waiting = await send(kind, account, 'hello', 4200)
        expect(shown(waiting), waiting.text).to.deep.equal(KINDS[kind].refused)
        const { message } = waiting.json.error
        expect(message).to.match(/^This call reserves \d+ credits \(max_tokens \d+\); \d+ are left/)
        expect(message).to.match(/ and \d+ are held by calls that run\. Try again shortly\./)
        expect(retried(waiting)).to.deep.equal(['2', 'true'])
        expect(await gateway.record(waiting)).to.include({ status: 'rejected', errorType: 'credits_in_use' })
        expect(retried(await send(kind, await gateway.account(100), 'hello', 4200))[1], 'nothing is held').to.equal(
          'false',
        )
        const beyond = await send('chat', account, 'hello', 5000)
        expect(shown(beyond)).to.deep.equal([402, 'insufficient_credits', 'insufficient_credits'])
        expect(retried(beyond)).to.deep.equal([null, 'false'])
        expect(await gateway.record(beyond)).to.include({ errorType: 'insufficient_credits' })
      })
      expect((await send(kind, account, prompted(), 4000)).status).to.equal(200)
    })

  it("let a call wait for what others hold of a key's or a member's budget, by the name of that budget", async () => {
    const organisation = await anOrganisation(gateway.db, 1_000_000)
    const member = await aMember(gateway.db, organisation, { budget: { credits: 13_000, period: 'day' } })
    const keyed = await gateway.account(1_000_000)
    await changeKey(gateway.db, keyed.keyId, { budget: { credits: 13_000, period: 'total' } })
    for (const [holder, type, words] of [
      [callerOf(gateway, member), 'member_budget_exceeded', 'left of your budget in this account'],
      [keyed, 'key_budget_exceeded', 'left of the budget of this key'],
    ] as const)
      await whileRunning('messages', holder, AGENTS_LIMIT, async () => {
        const reply = await send('chat', holder, 'hello', 4000)
        expect(shown(reply), reply.text).to.deep.equal([402, type, type])
        expect(reply.json.error.message).to.include(words).and.to.include('are held by calls that run')
        expect(reply.json.error).not.to.have.property('resetsAt')
        expect(retried(reply)).to.deep.equal(['2', 'true'])
        expect(await gateway.record(reply)).to.include({ errorType: 'credits_in_use' })
        expect(shown(await send('messages', holder, 'hello', AGENTS_LIMIT))).to.deep.equal(KINDS.messages.refused)
      })
  })
})
