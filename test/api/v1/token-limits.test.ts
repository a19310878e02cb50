import { expect } from 'chai'
import OpenAI from 'openai'
import { setLimitsOf } from '../../../src/shared/identity/account-limits.ts'
import type { LimitChanges } from '../../../src/shared/identity/account-limits.ts'
import { changeKey } from '../../../src/shared/identity/key-limits.ts'
import { useGateway, useSecondWeb } from '../../support/gateway.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { get, post, send } from '../../../scripts/harness/http.ts'
import {
  CHAT,
  EMBEDDINGS,
  chat,
  chatBody,
  countsOf,
  image,
  prompted,
  recordOf,
} from '../../../scripts/harness/calling.ts'

const MESSAGES = '/v1/messages'
const RESPONSES = '/v1/responses'

/** What every chat of these tests reserves at least, and is settled at. */
const USED = '[usage 30 20]'

describe('tokens a minute', () => {
  const gateway = useGateway({}, ({ models }) => {
    const plain = models.find(({ id }) => id === 'sandbox-chat')!
    models.push({ ...plain, id: 'long-chat', maxOutputTokens: 128_000, defaultOutputTokens: 16_384 })
  })
  const second = useSecondWeb(gateway)

  const limit = (account: TestAccount, changes: LimitChanges) =>
    gateway.db.transaction((trx) => setLimitsOf(trx, account.id, changes))

  async function limited(tokensPerMinute: number): Promise<TestAccount> {
    const account = await anAccount(gateway.db, 100_000)
    await limit(account, { tokensPerMinute })
    return account
  }

  const allowance = ({ headers }: Pick<Reply, 'headers'>): (string | null)[] =>
    ['limit', 'remaining', 'reset'].map((what) => headers.get(`x-ratelimit-${what}-tokens`))

  /** Of a limit of 5,000, whatever is left of it. */
  function expectShown(reply: Reply): void {
    const [most, left, reset] = allowance(reply)
    expect(most, `${reply.status} ${reply.text}`).to.equal('5000')
    expect(Number(left)).to.be.within(0, 5000)
    expect(reset).to.match(/^(60|[1-5]?\d)s$/)
  }

  const tokensOf = (reply: Reply): number =>
    Number(/reserves (\d+) tokens/.exec(reply.json.error.message as string)?.[1])

  it('are shown on every answer of an account that has the limit, whatever is asked', async () => {
    const account = await limited(5000)
    const prompt = prompted(USED)
    const once = { 'idempotency-key': 'once' }
    const answered = await chat(gateway, account, prompt, { max_tokens: 100 }, once)
    expect(answered.status, answered.text).to.equal(200)
    const [, left] = allowance(answered)
    expect(Number(left), 'after its own reservation').to.be.within(4800, 4899)
    const replayed = await chat(second, account, prompt, { max_tokens: 100 }, once)
    expect([replayed.headers.get('idempotent-replayed'), allowance(replayed)[1]]).to.deep.equal(['true', '4950'])
    const message = { ...chatBody(prompted(USED)), max_tokens: 50 }
    const paths: [string, object][] = [
      [CHAT, { ...message, stream: true }],
      [CHAT, { ...message, max_tokens: 'many' }],
      [CHAT, { ...message, model: 'none' }],
      [MESSAGES, message],
      [MESSAGES, { ...message, stream: true }],
      [MESSAGES, { ...message, max_tokens: 0 }],
      [`${MESSAGES}/count_tokens`, message],
      [RESPONSES, { model: 'sandbox-chat', input: prompted(USED), max_output_tokens: 50 }],
      [RESPONSES, { model: 'sandbox-chat', input: prompted(USED), max_output_tokens: 50, stream: true }],
      [RESPONSES, { model: 'sandbox-chat' }],
      [EMBEDDINGS, { model: 'sandbox-embedding', input: 'a fox' }],
      ['/v1/images/generations', { model: 'sandbox-image', prompt: prompted() }],
      ['/v1/quotes', { endpoint: CHAT, body: message }],
    ]
    for (const [path, body] of paths) expectShown(await post(`${gateway.url}${path}`, account.key, body))
    const call = `/v1/calls/${answered.headers.get('x-call-id')}`
    for (const path of ['/v1/models', '/v1/key', call, '/v1/calls/call_1', '/v1/none', '/v1/realtime', CHAT])
      expectShown(await get(`${gateway.url}${path}`, account.key))
    expect(allowance(await get(`${gateway.url}/v1/none`)), 'without a key').to.deep.equal([null, null, null])
    const other = await anAccount(gateway.db, 1000)
    expect(allowance(await chat(gateway, other, prompted()))).to.deep.equal([null, null, null])
    expect(allowance(await get(`${gateway.url}/v1/models`, 'tg_none'))).to.deep.equal([null, null, null])
  })

  it('are whole, with a window that has not begun, before the first call, and after pictures', async () => {
    const account = await limited(5000)
    expect(allowance(await get(`${gateway.url}/v1/key`, account.key))).to.deep.equal(['5000', '5000', '0s'])
    expect(allowance(await image(gateway, account, prompted()))).to.deep.equal(['5000', '5000', '0s'])
  })

  /** Calls are opened, and stay open until `work` is done: what they reserved is not corrected meanwhile. */
  async function withoutWorker(work: () => Promise<void>): Promise<void> {
    await gateway.stopWorker()
    try {
      await work()
    } finally {
      await gateway.startWorker()
    }
  }

  const ASYNC = { prefer: 'respond-async' }

  it('refuse a call with 429 and the time of the next window, and take nothing for it', () =>
    withoutWorker(async () => {
      const account = await limited(1000)
      expect((await chat(gateway, account, prompted(), { max_tokens: 800 }, ASYNC)).status).to.equal(202)
      const reply = await chat(second, account, prompted(), { max_tokens: 400 })
      expect([reply.status, reply.json.error.type, reply.json.error.param]).to.deep.equal([429, 'rate_limited', null])
      expect(reply.json.error.message).to.match(
        /^This call reserves \d+ tokens; \d+ are left of the 1000 of this minute/,
      )
      expect(Number(reply.headers.get('retry-after'))).to.be.within(1, 60)
      expect(reply.headers.get('x-should-retry')).to.equal('true')
      expect(allowance(reply)[2]).to.equal(`${reply.headers.get('retry-after')}s`)
      expect(tokensOf(reply)).to.be.above(Number(allowance(reply)[1]))
      expect(await recordOf(gateway.db, reply)).to.include({
        status: 'rejected',
        errorType: 'rate_limited',
        credits: 0,
      })
      expect(await countsOf(gateway.db, account)).to.include({ charged: 1 })
    }))

  it('refuse in the form of each dialect', () =>
    withoutWorker(async () => {
      const account = await limited(700)
      const begun = await chat(gateway, account, prompted(), { max_tokens: 500 }, ASYNC)
      expect(begun.status, begun.text).to.equal(202)
      const message = await post(`${gateway.url}${MESSAGES}`, account.key, {
        ...chatBody(prompted()),
        max_tokens: 500,
      })
      expect([message.status, message.json.error.type]).to.deep.equal([429, 'rate_limit_error'])
      const response = await post(`${gateway.url}${RESPONSES}`, account.key, {
        model: 'sandbox-chat',
        input: prompted(),
        max_output_tokens: 500,
      })
      expect([response.status, response.json.error.code]).to.deep.equal([429, 'rate_limited'])
      for (const reply of [message, response]) {
        expect(reply.headers.get('retry-after')).to.match(/^\d+$/)
        expect(reply.headers.get('x-should-retry')).to.equal('true')
      }
    }))

  it('let the tighter one of account and key decide, and be shown', async () => {
    const account = await limited(5000)
    await changeKey(gateway.db, account.keyId, { tokensPerMinute: 300 })
    const reply = await chat(gateway, account, prompted(USED), { max_tokens: 100 })
    expect(allowance(reply)[0]).to.equal('300')
    const key = await get(`${gateway.url}/v1/key`, account.key)
    expect(key.json.key.tokensPerMinute).to.equal(300)
    expect(allowance(key).slice(0, 2)).to.deep.equal(['300', '250'])
    const above = await chat(gateway, account, prompted(USED), { max_tokens: 300 })
    expect([above.status, above.json.error.param]).to.deep.equal([400, 'max_tokens'])
    await changeKey(gateway.db, account.keyId, { tokensPerMinute: null })
    expect(allowance(await get(`${second.url}/v1/key`, account.key)).slice(0, 2)).to.deep.equal(['5000', '4950'])
  })

  it('refuse with 400 what is above the whole limit, as a quote does, and still hand out what was paid', async () => {
    const account = await limited(2000)
    const prompt = prompted(USED)
    const once = { 'idempotency-key': 'once' }
    await chat(gateway, account, prompt, { max_tokens: 900 }, once)
    await limit(account, { tokensPerMinute: 500 })
    expect((await chat(gateway, account, prompt, { max_tokens: 900 }, once)).status).to.equal(200)
    const refused = await chat(gateway, account, prompted(), { max_tokens: 900 })
    expect([refused.status, refused.json.error.type, refused.json.error.param]).to.deep.equal([
      400,
      'invalid_request',
      'max_tokens',
    ])
    expect(refused.json.error.message).to.match(
      /^This call reserves \d+ tokens, more than the limit of 500 a minute\. Ask for less with a lower max_tokens\./,
    )
    expect(refused.headers.get('x-should-retry')).to.equal('false')
    const body = chatBody(prompted(), { max_tokens: 900 })
    const quoted = await post(`${gateway.url}/v1/quotes`, account.key, { endpoint: CHAT, body })
    expect([quoted.status, quoted.json.error.param]).to.deep.equal([400, 'max_tokens'])
    const embedded = await post(`${gateway.url}${EMBEDDINGS}`, account.key, {
      model: 'sandbox-embedding',
      input: 'x'.repeat(3000),
    })
    expect([embedded.status, embedded.json.error.param]).to.deep.equal([400, 'input'])
    const response = await post(`${gateway.url}${RESPONSES}`, account.key, {
      model: 'sandbox-chat',
      input: prompted(),
      max_output_tokens: 900,
    })
    expect([response.status, response.json.error.param]).to.deep.equal([400, 'max_output_tokens'])
    expect((await image(gateway, account, prompted())).status).to.equal(200)
  })

  it('lower the output that a client leaves to us to the whole limit, and not to what others have left', async () => {
    const account = await limited(6000)
    const response = { model: 'long-chat', input: prompted(USED) }
    const lowered = await post(`${gateway.url}${RESPONSES}`, account.key, response)
    expect(lowered.status, lowered.text).to.equal(200)
    expect(Number(lowered.headers.get('x-max-output-tokens'))).to.be.within(5900, 5999)
    expect(allowance(lowered)[1]).to.equal('0')
    const next = await post(`${gateway.url}${RESPONSES}`, account.key, { ...response, input: prompted(USED) })
    expect(next.status, next.text).to.equal(429)
    const message = { ...chatBody(prompted(), { model: 'long-chat' }), max_tokens: 64_000 }
    const body = { endpoint: MESSAGES, body: message }
    expect((await post(`${gateway.url}/v1/quotes`, account.key, body)).json.credits).to.be.within(17, 18)
    await limit(account, { tokensPerMinute: 4000 })
    const tooLittle = await post(`${gateway.url}${MESSAGES}`, account.key, message)
    expect([tooLittle.status, tooLittle.json.error.type]).to.deep.equal([400, 'invalid_request_error'])
    const plain = await chat(gateway, account, prompted(), { model: 'long-chat' })
    expect([plain.status, plain.json.error.param]).to.deep.equal([400, 'max_tokens'])
  })

  it('give everything back for a call that failed', async () => {
    const account = await limited(5000)
    const failed = await chat(gateway, account, prompted('[status 400]'), { max_tokens: 400 })
    expect(failed.status).to.be.within(400, 599)
    expect(allowance(await get(`${gateway.url}/v1/key`, account.key))[1]).to.equal('5000')
  })

  it("make OpenAI's SDK wait for the next window, where its call is taken", async () => {
    const account = await limited(1000)
    expect((await chat(gateway, account, prompted('[usage 30 700]'), { max_tokens: 800 })).status).to.equal(200)
    await gateway
      .db('accounts')
      .where({ id: account.id })
      .update({ token_window_at: gateway.db.raw(`token_window_at - interval '58 seconds'`) })
    const statuses: number[] = []
    const client = new OpenAI({
      baseURL: `${gateway.url}/v1`,
      apiKey: account.key,
      maxRetries: 2,
      fetch: async (...asked) => {
        const response = await fetch(...asked)
        statuses.push(response.status)
        return response
      },
    })
    const { usage } = await client.chat.completions.create({
      model: 'sandbox-chat',
      messages: [{ role: 'user', content: prompted(USED) }],
      max_tokens: 500,
    })
    expect(usage).to.include({ total_tokens: 50 })
    expect(statuses).to.deep.equal([429, 200])
  })

  it('may be read by pages of any origin', async () => {
    const account = await limited(5000)
    const reply = await send('GET', `${gateway.url}/v1/models`, {
      key: account.key,
      headers: { origin: 'https://a.b' },
    })
    const exposed = reply.headers.get('access-control-expose-headers')!.toLowerCase().split(', ')
    for (const what of ['limit', 'remaining', 'reset']) expect(exposed).to.include(`x-ratelimit-${what}-tokens`)
  })
})
