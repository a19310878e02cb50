import { expect } from 'chai'
import OpenAI, {
  APIError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
} from 'openai'
import { prompted } from '../../../scripts/harness/calling.ts'
import { get } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import { runImport } from '../../../src/shared/operators/import/report.ts'
import { aPlan, aPlannedUser, anImportedKey } from '../../shared/operators/import/plans.ts'
import { useAccount, useGateway } from '../../support/gateway.ts'
import { refusal } from './support/errors.ts'

const LIMIT = 25

// Its lists: models.test.ts. Its chats, whole and streamed: test/clients/real-clients.test.ts.
describe("OpenAI's own SDK", () => {
  const gateway = useGateway({ GATEWAY_RATE_LIMIT: String(LIMIT) })
  const account = useAccount(gateway, 10_000)

  const client = (options: object = {}): OpenAI =>
    new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: account.key, ...options })
  const chat = (openai: OpenAI, content: string, model = 'sandbox-chat') =>
    openai.chat.completions.create({ model, messages: [{ role: 'user', content }] })
  const image = (openai: OpenAI, prompt: string, model = 'sandbox-image') => openai.images.generate({ model, prompt })

  it('throws its own classes of errors', async () => {
    const openai = client({ maxRetries: 0 })
    const empty = await gateway.account()
    const unsupported = { code: 'unsupported_model', param: 'model', type: 'unsupported_model' }
    const errors = [
      [() => client().models.retrieve('maker/none'), NotFoundError, 404, { code: 'model_not_found' }],
      [() => chat(openai, 'x', 'nothing'), BadRequestError, 400, unsupported],
      [() => client({ apiKey: 'tg_nonsense' }).models.list(), AuthenticationError, 401, { code: 'unauthorized' }],
      [() => image(client({ apiKey: empty.key }), 'x'), APIError, 402, { code: 'insufficient_credits' }],
      [() => image(openai, '[status 400]'), InternalServerError, 502, { code: 'upstream_failed' }],
    ] as const
    for (const [request, kind, status, more] of errors) {
      const error = await refusal<APIError>(request(), kind)
      expect(error).to.include({ status, ...more })
      expect(error.requestID).to.be.a('string')
    }
    for (let request = 0; request < LIMIT; request++) await openai.get('/key').catch(() => {})
    const limited = await refusal(openai.get('/key'), RateLimitError)
    expect(limited).to.include({ status: 429, code: 'rate_limited' })
    expect(Number(limited.headers!.get('retry-after'))).to.be.within(1, 60)
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
          const ended = { account_id: account.id, status: 'succeeded' }
          await until('its end', () => gateway.db('calls').where(ended).first())
        }
      }
    }
    const answer = await chat(client({ timeout: 1000, maxRetries: 2, fetch: attempt }), prompt)
    expect(attempts).to.equal(3)
    expect(answer.choices[0]!.message.content).to.equal('at last')
    expect(gateway.sandbox.billed(prompt).total).to.equal(1)
    expect(await account.balance()).to.equal(9999)
    expect(await account.counts()).to.deep.include({ calls: 1, charged: 1 })
  })

  it('is served with a key of another gateway, within the limits that it had there', async () => {
    const name = 'k'.repeat(48)
    const keys = [
      anImportedKey('1', `sk-${name}`, { models: ['sandbox-chat'] }),
      anImportedKey('1', `sk-far${name}`, { networks: ['192.0.2.0/24'] }),
    ]
    const users = [aPlannedUser('1', { grantCredits: 100_000n })]
    await runImport(gateway.db, { name: 'one-api', gateway: 'one-api' }, aPlan({ users, keys }), true)
    const asked = (apiKey: string, model?: string) => chat(client({ apiKey, maxRetries: 0 }), 'Hello', model)
    // For a second it is remembered that there was none.
    await until('the keys are known', async () => (await get(`${gateway.url}/v1/key`, `sk-${name}`)).status === 200)
    for (const key of [`sk-${name}`, name, `sk-${name}-12`])
      expect((await asked(key)).choices[0]!.finish_reason).to.equal('stop')
    expect(await refusal(asked(`sk-far${name}`), PermissionDeniedError)).to.include({ code: 'ip_not_allowed' })
    expect(await refusal(asked(name, 'sandbox-image'), APIError)).to.include({ status: 400 })
  })
})
