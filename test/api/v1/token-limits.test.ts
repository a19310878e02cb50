import { expect } from 'chai'
import { setLimitsOf } from '../../../src/shared/identity/account-limits.ts'
import type { LimitChanges } from '../../../src/shared/identity/account-limits.ts'
import { changeKey } from '../../../src/shared/identity/key-limits.ts'
import { useGateway, useSecondWeb } from '../../support/gateway.ts'
import type { Caller } from '../../support/caller.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { get } from '../../../scripts/harness/http.ts'
import { CHAT, EMBEDDINGS, IMAGES, chat, chatBody, imageBody, prompted } from '../../../scripts/harness/calling.ts'

const MESSAGES = '/v1/messages'
const RESPONSES = '/v1/responses'
const ONCE = { 'idempotency-key': 'once' }
const ASYNC = { prefer: 'respond-async' }

/** What every chat of these tests reserves at least, and is settled at. */
const USED = '[usage 30 20]'

// What the charge takes and gives back: test/shared/calls/token-limits.test.ts.
describe('tokens a minute', () => {
  const gateway = useGateway({}, ({ models }) => {
    const plain = models.find(({ id }) => id === 'sandbox-chat')!
    models.push({ ...plain, id: 'long-chat', maxOutputTokens: 128_000, defaultOutputTokens: 16_384 })
  })
  const second = useSecondWeb(gateway)

  const limit = (account: Caller, changes: LimitChanges) =>
    gateway.db.transaction((trx) => setLimitsOf(trx, account.id, changes))

  async function limited(tokensPerMinute: number): Promise<Caller> {
    const account = await gateway.account(100_000)
    await limit(account, { tokensPerMinute })
    return account
  }

  const allowance = ({ headers }: Pick<Reply, 'headers'>): (string | null)[] =>
    ['limit', 'remaining', 'reset'].map((what) => headers.get(`x-ratelimit-${what}-tokens`))
  const message = (limit: unknown, more: object = {}) => ({ ...chatBody(prompted(USED)), max_tokens: limit, ...more })
  const response = (limit: number, more: object = {}) => ({
    model: 'sandbox-chat',
    input: prompted(USED),
    max_output_tokens: limit,
    ...more,
  })
  const refusalOf = ({ status, json: { error } }: Reply) => [status, error.type, error.param ?? null]

  it('are shown on every answer of an account that has the limit, whatever is asked', async () => {
    const account = await limited(5000)
    expect(allowance(await account.get('/v1/key')), 'before the first call').to.deep.equal(['5000', '5000', '0s'])
    expect(allowance(await account.image(prompted())), 'after a picture').to.deep.equal(['5000', '5000', '0s'])
    const prompt = prompted(USED)
    const answered = await account.chat(prompt, { max_tokens: 100 }, ONCE)
    expect(answered.status, answered.text).to.equal(200)
    expect(Number(allowance(answered)[1]), 'after its own reservation').to.be.within(4800, 4899)
    const replayed = await chat(second, account, prompt, { max_tokens: 100 }, ONCE)
    expect([replayed.headers.get('idempotent-replayed'), allowance(replayed)[1]]).to.deep.equal(['true', '4950'])
    const paths: [string, object?][] = [
      [CHAT, message(50, { stream: true })],
      [CHAT, message('many')],
      [MESSAGES, message(50)],
      [MESSAGES, message(0)],
      [`${MESSAGES}/count_tokens`, message(50)],
      [RESPONSES, response(50)],
      [RESPONSES, { model: 'sandbox-chat' }],
      [EMBEDDINGS, { model: 'sandbox-embedding', input: 'a fox' }],
      [IMAGES, imageBody(prompted())],
      ['/v1/quotes', { endpoint: CHAT, body: message(50) }],
      [`/v1/calls/${answered.headers.get('x-call-id')}`],
      ...['models', 'key', 'calls/call_1', 'none', 'realtime', 'chat/completions'].map((path): [string] => [
        `/v1/${path}`,
      ]),
    ]
    for (const [path, body] of paths) {
      const reply = body ? await account.post(path, body) : await account.get(path)
      const [most, left, reset] = allowance(reply)
      expect(most, `${reply.status} ${reply.text}`).to.equal('5000')
      expect(Number(left)).to.be.within(0, 5000)
      expect(reset).to.match(/^(60|[1-5]?\d)s$/)
    }
    for (const reply of [
      await get(`${gateway.url}/v1/none`),
      await get(`${gateway.url}/v1/models`, 'tg_none'),
      await (await gateway.account(1000)).chat(prompted()),
    ])
      expect(allowance(reply)).to.deep.equal([null, null, null])
    const exposed = (await account.get('/v1/models', { origin: 'https://a.b' })).headers
      .get('access-control-expose-headers')!
      .toLowerCase()
    for (const what of ['limit', 'remaining', 'reset']) expect(exposed).to.include(`x-ratelimit-${what}-tokens`)
  })

  it('refuse a call with 429 and the time of the next window in the form of each dialect, uncharged', async () => {
    const account = await limited(1000)
    // Calls stay open: what they reserved is not corrected meanwhile.
    await gateway.stopWorker()
    expect((await account.chat(prompted(), { max_tokens: 800 }, ASYNC)).status).to.equal(202)
    const replies = [
      await chat(second, account, prompted(), { max_tokens: 400 }),
      await account.post(MESSAGES, message(400)),
      await account.post(RESPONSES, response(400)),
    ]
    await gateway.startWorker()
    expect(replies.map(refusalOf)).to.deep.equal([
      [429, 'rate_limited', null],
      [429, 'rate_limit_error', null],
      [429, 'rate_limit_error', null],
    ])
    for (const { headers } of replies) {
      expect(Number(headers.get('retry-after'))).to.be.within(1, 60)
      expect(headers.get('x-should-retry')).to.equal('true')
    }
    const [first] = replies
    const said = /^This call reserves (\d+) tokens; (\d+) are left of the 1000 of this minute/
    const [, reserved, left] = said.exec(first!.json.error.message as string)!
    expect(Number(reserved)).to.be.above(Number(left))
    expect(allowance(first!).slice(1)).to.deep.equal([left, `${first!.headers.get('retry-after')}s`])
    expect(await gateway.record(first!)).to.include({ status: 'rejected', errorType: 'rate_limited', credits: 0 })
    expect(await account.counts()).to.include({ charged: 1 })
  })

  it('let the tighter one of account and key decide, and be shown', async () => {
    const account = await limited(5000)
    await changeKey(gateway.db, account.keyId, { tokensPerMinute: 300 })
    expect(allowance(await account.chat(prompted(USED), { max_tokens: 100 }))[0]).to.equal('300')
    const key = await account.get('/v1/key')
    expect(key.json.key.tokensPerMinute).to.equal(300)
    expect(allowance(key).slice(0, 2)).to.deep.equal(['300', '250'])
    const above = await account.chat(prompted(USED), { max_tokens: 300 })
    expect(refusalOf(above)).to.deep.equal([400, 'invalid_request', 'max_tokens'])
    await changeKey(gateway.db, account.keyId, { tokensPerMinute: null })
    expect(allowance(await get(`${second.url}/v1/key`, account.key)).slice(0, 2)).to.deep.equal(['5000', '4950'])
  })

  it('refuse with 400 what is above the whole limit, as a quote does, and still hand out what was paid', async () => {
    const account = await limited(2000)
    const prompt = prompted(USED)
    await account.chat(prompt, { max_tokens: 900 }, ONCE)
    await limit(account, { tokensPerMinute: 500 })
    expect((await account.chat(prompt, { max_tokens: 900 }, ONCE)).status).to.equal(200)
    for (const [path, body, param] of [
      [CHAT, message(900), 'max_tokens'],
      ['/v1/quotes', { endpoint: CHAT, body: message(900) }, 'max_tokens'],
      [EMBEDDINGS, { model: 'sandbox-embedding', input: 'x'.repeat(3000) }, 'input'],
      [RESPONSES, response(900), 'max_output_tokens'],
    ] as const) {
      const refused = await account.post(path, body)
      expect([refused.status, refused.json.error.param], path).to.deep.equal([400, param])
      expect(refused.headers.get('x-should-retry')).to.equal('false')
      if (path === CHAT)
        expect(refused.json.error.message.replace(/\d+/, '…')).to.include(
          'This call reserves … tokens, more than the limit of 500 a minute. Ask for less with a lower max_tokens.',
        )
    }
    expect((await account.image(prompted())).status).to.equal(200)
  })

  it('lower the output that a client leaves to us to the whole limit, and not to what others have left', async () => {
    const account = await limited(6000)
    const asking = () => account.post(RESPONSES, { model: 'long-chat', input: prompted(USED) })
    const lowered = await asking()
    expect(lowered.status, lowered.text).to.equal(200)
    expect(Number(lowered.headers.get('x-max-output-tokens'))).to.be.within(5900, 5999)
    expect(allowance(lowered)[1]).to.equal('0')
    expect((await asking()).status).to.equal(429)
    const body = message(64_000, { model: 'long-chat' })
    expect((await account.post('/v1/quotes', { endpoint: MESSAGES, body })).json.credits).to.be.within(17, 18)
    await limit(account, { tokensPerMinute: 4000 })
    expect(refusalOf(await account.post(MESSAGES, body)).slice(0, 2)).to.deep.equal([400, 'invalid_request_error'])
    const plain = await account.chat(prompted(), { model: 'long-chat' })
    expect(refusalOf(plain)).to.deep.equal([400, 'invalid_request', 'max_tokens'])
  })
})
