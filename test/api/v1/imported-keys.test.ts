import { expect } from 'chai'
import OpenAI, { APIError, AuthenticationError, PermissionDeniedError } from 'openai'
import { runImport } from '../../../src/shared/operators/import/report.ts'
import { get } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import { useGateway } from '../../support/gateway.ts'
import { aPlan, aPlannedUser, anImportedKey } from '../../shared/operators/import/plans.ts'
import { refusal } from './support/errors.ts'

describe("OpenAI's own SDK with a key of another gateway", () => {
  const gateway = useGateway()
  const chat = (apiKey: string, model = 'sandbox-chat') =>
    new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0 }).chat.completions.create({
      model,
      messages: [{ role: 'user', content: 'Hello' }],
    })

  it('is served as it was there, within the limits that it had there', async () => {
    const name = 'k'.repeat(48)
    expect(await refusal(chat(`sk-${name}`), AuthenticationError)).to.include({ code: 'unauthorized' })
    const budget = { credits: 1n, period: 'total' as const, spentCredits: 1n }
    const keys = [
      anImportedKey('1', `sk-${name}`, { models: ['sandbox-chat'] }),
      anImportedKey('1', `sk-off${name}`, { isDisabled: true }),
      anImportedKey('1', `sk-old${name}`, { expiresAt: new Date(Date.now() - 1000) }),
      anImportedKey('1', `sk-far${name}`, { networks: ['192.0.2.0/24'] }),
      anImportedKey('1', `sk-spent${name}`, { budget }),
    ]
    const users = [aPlannedUser('1', { grantCredits: 100_000n })]
    await runImport(gateway.db, { name: 'one-api', gateway: 'one-api' }, aPlan({ users, keys }), true)
    // For a second it is remembered that there was none.
    await until('the keys are known', async () => (await get(`${gateway.url}/v1/key`, `sk-${name}`)).status === 200)
    const served = [`sk-${name}`, name, `sk-${name}-12`]
    for (const key of served) expect((await chat(key)).choices[0]!.finish_reason).to.equal('stop')
    for (const [key, kind, status, code] of [
      [`sk-${name.slice(1)}`, AuthenticationError, 401, 'unauthorized'],
      [`sk-off${name}`, AuthenticationError, 401, 'unauthorized'],
      [`sk-old${name}`, AuthenticationError, 401, 'unauthorized'],
      [`sk-far${name}`, PermissionDeniedError, 403, 'ip_not_allowed'],
      [`sk-spent${name}`, APIError, 402, 'key_budget_exceeded'],
    ] as const) {
      expect(await refusal<APIError>(chat(key), kind), key).to.include({ status, code })
    }
    const refused = await refusal<APIError>(chat(name, 'sandbox-image'), APIError)
    expect(refused.status).to.equal(400)
  })
})
