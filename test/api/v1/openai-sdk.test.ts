import { expect } from 'chai'
import OpenAI, {
  APIError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  RateLimitError,
} from 'openai'
import { prompted } from '../../../scripts/harness/calling.ts'
import { until } from '../../../scripts/harness/until.ts'
import { useAccount, useGateway } from '../../support/gateway.ts'
import { refusal as refusalOf } from './support/errors.ts'

const LIMIT = 25

describe("OpenAI's own SDK", () => {
  const gateway = useGateway({ GATEWAY_RATE_LIMIT: String(LIMIT) }, ({ models }) => {
    models.push({ ...models.find(({ id }) => id === 'sandbox-chat')!, id: 'maker/chat' })
  })
  const account = useAccount(gateway, 10_000)

  const client = (options: object = {}): OpenAI =>
    new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: account.key, ...options })
  const asked = (content: string) => ({ model: 'sandbox-chat', messages: [{ role: 'user' as const, content }] })

  const refusal = (request: PromiseLike<unknown>): Promise<APIError> => refusalOf(request, APIError)

  it('lists the models', async () => {
    const { data } = await client().models.list()
    expect(data.map((model) => model.id)).to.include.members(['sandbox-chat', 'sandbox-image', 'sandbox-video'])
    expect(data[0]).to.include({ object: 'model' })
  })

  it('retrieves a model, whose id has a slash, and throws its own error for one that is not there', async () => {
    expect(await client().models.retrieve('maker/chat')).to.include({ id: 'maker/chat', object: 'model' })
    expect(await refusal(client().models.retrieve('maker/none')))
      .to.be.an.instanceOf(NotFoundError)
      .and.include({ status: 404, code: 'model_not_found' })
  })

  it('throws its own classes of errors', async () => {
    const openai = client({ maxRetries: 0 })
    const bad = await refusal(openai.chat.completions.create({ ...asked('x'), model: 'nothing' }))
    expect(bad).to.be.an.instanceOf(BadRequestError)
    expect(bad).to.include({ status: 400, code: 'unsupported_model', param: 'model', type: 'unsupported_model' })
    expect(bad.requestID).to.be.a('string')
    expect(await refusal(client({ apiKey: 'tg_nonsense' }).models.list()))
      .to.be.an.instanceOf(AuthenticationError)
      .and.include({ status: 401, code: 'unauthorized' })
    const empty = await gateway.account()
    expect(
      await refusal(client({ apiKey: empty.key }).images.generate({ model: 'sandbox-image', prompt: 'x' })),
    ).to.include({ status: 402, code: 'insufficient_credits' })
    expect(await refusal(openai.images.generate({ model: 'sandbox-image', prompt: '[status 400]' })))
      .to.be.an.instanceOf(InternalServerError)
      .and.include({ status: 502, code: 'upstream_failed' })
    for (let request = 0; request < LIMIT; request++) await openai.get('/key').catch(() => {})
    const limited = await refusal(openai.get('/key'))
    expect(limited).to.be.an.instanceOf(RateLimitError).and.include({ status: 429, code: 'rate_limited' })
    expect(Number(limited.headers!.get('retry-after'))).to.be.within(1, 60)
  })

  it('does not retry what would fail again: a refusal, an empty balance, an upstream that failed', async () => {
    const empty = await gateway.account()
    await refusal(client({ apiKey: empty.key, maxRetries: 3 }).images.generate({ model: 'sandbox-image', prompt: 'x' }))
    expect((await empty.counts()).calls).to.equal(1)
    const prompt = prompted('[status 500]')
    await refusal(client({ maxRetries: 3 }).images.generate({ model: 'sandbox-image', prompt }))
    expect(gateway.sandbox.journal(prompt).length).to.equal(1)
    await refusal(client({ maxRetries: 3 }).images.generate({ model: 'unavailable-image', prompt: 'x' }))
    expect((await account.counts()).calls).to.equal(2)
  })

  it('with a time-out shorter than the chat gets its answer on the last attempt: one charge, one bill', async () => {
    const prompt = prompted('[hold] [answer at last] [usage 10 20]')
    let attempts = 0
    // The chat ends between the second attempt, which gave up, and the last one.
    const attempt: typeof fetch = async (...request) => {
      const nth = (attempts += 1)
      try {
        return await fetch(...request)
      } finally {
        if (nth === 2) {
          await until('the upstream to have it', () => gateway.sandbox.release(prompt) > 0)
          await until('its end', () =>
            gateway.db('calls').where({ account_id: account.id, status: 'succeeded' }).first(),
          )
        }
      }
    }
    const sdk = client({ timeout: 1000, maxRetries: 2, fetch: attempt })
    const answer = await sdk.chat.completions.create(asked(prompt))
    expect(attempts).to.equal(3)
    expect(answer.choices[0]!.message.content).to.equal('at last')
    expect(gateway.sandbox.billed(prompt).total).to.equal(1)
    expect(await account.balance()).to.equal(9999)
    expect(await account.counts()).to.deep.include({ calls: 1, charged: 1 })
  })
})
