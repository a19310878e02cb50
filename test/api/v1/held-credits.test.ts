import Anthropic from '@anthropic-ai/sdk'
import { expect } from 'chai'
import OpenAI from 'openai'
import { chat, prompted, recordOf } from '../../../scripts/harness/calling.ts'
import type { TestAccount, TestMember } from '../../../scripts/harness/factories.ts'
import { aMember, anAccount, anOrganisation, balanceOf, proveAddress } from '../../../scripts/harness/factories.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { post } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import { changeKey } from '../../../src/shared/identity/key-limits.ts'
import { dueTopUps } from '../../../src/shared/payments/top-ups.ts'
import { outstandingOf } from '../../shared/calls/opening.ts'
import { claudeAndGpt } from './support/message-models.ts'
import { useGateway } from '../../support/gateway.ts'

/** The most output that an agent asks for. */
const AGENTS_LIMIT = 64_000

const user = (content: string) => [{ role: 'user' as const, content }]

describe('credits that running calls hold', () => {
  const gateway = useGateway({}, claudeAndGpt)

  /** What these calls send, by their endpoint. */
  const SENT = {
    messages: (content: string, limit: number) => ({ model: 'claude', max_tokens: limit, messages: user(content) }),
    responses: (content: string, limit: number) => ({ model: 'gpt', input: content, max_output_tokens: limit }),
    chat: (content: string, limit: number) => ({ model: 'gpt', max_tokens: limit, messages: user(content) }),
  }
  type Kind = keyof typeof SENT
  const PATHS = { messages: '/v1/messages', responses: '/v1/responses', chat: '/v1/chat/completions' }

  const send = (kind: Kind, { key }: Pick<TestAccount, 'key'>, content: string, limit: number): Promise<Reply> =>
    post(`${gateway.url}${PATHS[kind]}`, key, SENT[kind](content, limit))

  /** Runs `during` while a call of this kind runs that holds what it may, and returns how that call was answered. */
  async function whileRunning(
    kind: Kind,
    account: TestAccount,
    limit: number,
    during: () => Promise<void>,
  ): Promise<Reply> {
    // Two words, because a stream is held after its first chunk.
    const prompt = prompted('[answer all right] [hold]')
    const open = await outstandingOf(gateway.db, account.id)
    const reply = send(kind, account, prompt, limit)
    await until('it runs', async () => (await outstandingOf(gateway.db, account.id)) === open + 1)
    await until('its upstream has it', () => gateway.sandbox.journal(prompt).length > 0)
    try {
      await during()
    } finally {
      gateway.sandbox.release(prompt)
    }
    return reply
  }

  const stateOf = ({ id }: TestAccount) =>
    gateway.db('accounts').where({ id }).first('credits', 'held', 'low_balance_state', 'top_up_state')

  /** Lets an account watch its balance at 5,000 credits. */
  async function watched(account: TestAccount): Promise<void> {
    await proveAddress(gateway.db, account)
    await gateway.db('accounts').where({ id: account.id }).update({ low_balance_below: 5000, top_up_below: 5000 })
  }

  for (const [kind, limit] of [
    ['messages', AGENTS_LIMIT],
    ['responses', AGENTS_LIMIT],
    ['chat', 16_000],
  ] as const) {
    it(`charge no card and notify nobody while ${kind} calls hold most of a balance and give it back`, async () => {
      const account = await anAccount(gateway.db, 50_000)
      await watched(account)
      const watching = { low_balance_state: 'armed', top_up_state: 'armed' }
      for (let round = 0; round < 3; round++) {
        const reply = await whileRunning(kind, account, limit, async () => {
          const { credits, held, ...states } = await stateOf(account)
          expect(held).to.be.at.least(24_000)
          expect(states).to.deep.equal(watching)
          expect(await dueTopUps(gateway.db, 1000)).not.to.include(account.id)
          if (kind === 'chat') return
          expect(held, 'half of what is free').to.be.within(Math.floor(credits + held) / 2 - 3, (credits + held) / 2)
        })
        expect(reply.status, reply.text).to.equal(200)
      }
      const { credits, held, ...states } = await stateOf(account)
      expect([held, states]).to.deep.equal([0, watching])
      expect(credits).to.be.above(49_000)
      expect(
        await gateway.db('mails').where({ user_id: account.userId }).whereIn('kind', ['low_balance']),
      ).to.have.length(0)
    })
  }

  it('let a key be reported once when it has really spent 80 and 100 percent of its budget', async () => {
    const account = await anAccount(gateway.db, 1_000_000)
    await proveAddress(gateway.db, account)
    await changeKey(gateway.db, account.keyId, { budget: { credits: 13_000, period: 'month' } })
    const marks = async () =>
      gateway
        .db('budget_notices')
        .join('budgets', 'budgets.id', 'budget_id')
        .where({ key_id: account.keyId })
        .orderBy('percent')
        .pluck<number[]>('percent')
    for (let round = 0; round < 2; round++) {
      await whileRunning('messages', account, AGENTS_LIMIT, async () => {
        expect(await marks()).to.deep.equal([])
      })
    }
    expect(await marks()).to.deep.equal([])
    const spend = (input: number, output: number) =>
      send('chat', account, prompted(`[usage ${input} ${output}]`), output)
    expect((await spend(1, 3600)).status).to.equal(200)
    expect(await marks()).to.deep.equal([80])
    const { used } = await gateway
      .db('budget_windows')
      .join('budgets', 'budgets.id', 'budget_id')
      .where({ key_id: account.keyId })
      .first('used')
    // Enough for the charge of the next call, whose input costs more in the end.
    await changeKey(gateway.db, account.keyId, { budget: { credits: used + 370, period: 'month' } })
    expect((await spend(80, 100)).status).to.equal(200)
    expect(await marks()).to.deep.equal([80, 100])
    const mails = await gateway.db('mails').where({ user_id: account.userId, kind: 'budget' }).select('details')
    expect(mails.map(({ details }) => details.percent)).to.have.members([80, 100])
  })

  const REFUSED = {
    messages: [429, 'rate_limit_error', undefined],
    responses: [429, 'rate_limit_error', 'rate_limit_exceeded'],
    chat: [402, 'insufficient_credits', 'insufficient_credits'],
  } as const

  const shown = ({ status, json }: Reply) => [status, json.error.type, json.error.code]

  for (const kind of Object.keys(REFUSED) as Kind[]) {
    it(`let ${kind} that could be paid without them wait, and refuse for good what could not`, async () => {
      const account = await anAccount(gateway.db, 13_000)
      await whileRunning('chat', account, 4200, async () => {
        const waiting = await send(kind, account, 'hello', 4200)
        expect(shown(waiting), waiting.text).to.deep.equal(REFUSED[kind])
        expect(waiting.json.error.message).to.match(/^This call reserves \d+ credits \(max_tokens \d+\); \d+ are left/)
        expect(waiting.json.error.message).to.match(/ and \d+ are held by calls that run\. Try again shortly\./)
        expect([waiting.headers.get('retry-after'), waiting.headers.get('x-should-retry')]).to.deep.equal(['2', 'true'])
        expect(await recordOf(gateway.db, waiting)).to.include({ status: 'rejected', errorType: 'credits_in_use' })
        const poor = await send(kind, await anAccount(gateway.db, 100), 'hello', 4200)
        expect(poor.headers.get('x-should-retry'), 'nothing is held').to.equal('false')
        const beyond = await send('chat', account, 'hello', 5000)
        expect(shown(beyond)).to.deep.equal([402, 'insufficient_credits', 'insufficient_credits'])
        expect([beyond.headers.get('retry-after'), beyond.headers.get('x-should-retry')]).to.deep.equal([null, 'false'])
        expect(await recordOf(gateway.db, beyond)).to.include({ errorType: 'insufficient_credits' })
      })
      expect((await send(kind, account, prompted(), 4000)).status).to.equal(200)
    })
  }

  it("let a call wait for what others hold of a key's or a member's budget, by the name of that budget", async () => {
    const organisation = await anOrganisation(gateway.db, 1_000_000)
    const member: TestMember = await aMember(gateway.db, organisation, { budget: { credits: 13_000, period: 'day' } })
    const keyed = await anAccount(gateway.db, 1_000_000)
    await changeKey(gateway.db, keyed.keyId, { budget: { credits: 13_000, period: 'total' } })
    for (const [holder, type, words] of [
      [member, 'member_budget_exceeded', 'left of your budget in this account'],
      [keyed, 'key_budget_exceeded', 'left of the budget of this key'],
    ] as const) {
      await whileRunning('messages', holder, AGENTS_LIMIT, async () => {
        const reply = await chat(gateway, holder, 'hello', { model: 'gpt', max_tokens: 4000 })
        expect(shown(reply), reply.text).to.deep.equal([402, type, type])
        expect(reply.json.error.message).to.include(words).and.to.include('are held by calls that run')
        expect(reply.json.error).not.to.have.property('resetsAt')
        expect([reply.headers.get('retry-after'), reply.headers.get('x-should-retry')]).to.deep.equal(['2', 'true'])
        expect(await recordOf(gateway.db, reply)).to.include({ errorType: 'credits_in_use' })
        const other = await send('messages', holder, 'hello', AGENTS_LIMIT)
        expect(shown(other)).to.deep.equal(REFUSED.messages)
      })
    }
  })

  it('leave enough for two agents and a third call at once, by the SDKs of Anthropic and OpenAI', async () => {
    const account = await anAccount(gateway.db, 50_000)
    const anthropic = new Anthropic({ baseURL: gateway.url, apiKey: account.key })
    const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: account.key })
    const agent = (content: string) =>
      anthropic.messages.stream({ model: 'claude', max_tokens: AGENTS_LIMIT, messages: user(content) }).finalMessage()
    const answers = await Promise.all([
      agent(prompted('[answer one] [delay 500]')),
      agent(prompted('[answer two] [delay 500]')),
      anthropic.messages.create({ model: 'claude', max_tokens: 500, messages: user(prompted('[answer title]')) }),
      openai.responses.create({ model: 'gpt', input: prompted('[answer three]'), max_output_tokens: 500 }),
    ])
    const texts = answers.map((one) => ('content' in one ? (one.content[0] as { text: string }).text : one.output_text))
    expect(texts).to.deep.equal(['one', 'two', 'title', 'three'])
    expect(await balanceOf(gateway.db, account.id)).to.be.above(48_000)
  })
})
