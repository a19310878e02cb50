import { expect } from 'chai'
import { newSecret } from '../../../src/shared/identity/api-keys.ts'
import type { KeyChanges } from '../../../src/shared/identity/key-limits.ts'
import { changeKey } from '../../../src/shared/identity/key-limits.ts'
import { setAccountStatus } from '../../../src/shared/operators/changes.ts'
import type { ErrorCode } from '../../../src/shared/platform/errors.ts'
import { send } from '../../../scripts/harness/http.ts'
import { CHAT, IMAGES } from '../../../scripts/harness/calling.ts'
import { useWeb } from '../../support/gateway.ts'

type Fields = Record<string, unknown>

/** What is wrong with a request: with its key, its head, its body as text, its fields, or its account. */
type Fault = {
  key?: string
  limits?: KeyChanges
  isSuspended?: true
  isSpent?: true
  contentType?: string
  isTooLarge?: true
  isCut?: true
  fields?: Fields
  headers?: Record<string, string>
}

/** The faults in the order in which they are reported (docs/api/errors.md#the-order-of-checks). */
const FAULTS: [code: ErrorCode, fault: Fault][] = [
  ['unauthorized', { key: newSecret() }],
  ['ip_not_allowed', { limits: { allowedIps: ['192.0.2.0/24'] } }],
  ['account_suspended', { isSuspended: true }],
  ['rate_limited', { isSpent: true }],
  ['unsupported_media_type', { contentType: 'text/plain' }],
  ['payload_too_large', { isTooLarge: true }],
  ['invalid_json', { isCut: true }],
  ['unsupported_model', { fields: { model: 'nothing' } }],
  ['model_not_allowed', { limits: { models: ['sandbox-chat'] } }],
  ['invalid_prompt', { fields: { prompt: '' } }],
  ['invalid_request', { fields: { resolution: '!' } }],
  ['upstream_unavailable', { fields: { model: 'unavailable-image' } }],
  ['price_above_limit', { headers: { 'x-max-credits': '1' } }],
  ['key_budget_exceeded', { limits: { budget: { credits: 39, period: 'day' } } }],
  ['insufficient_credits', {}],
]

const LIMIT = 2

describe("the order of a call's checks", () => {
  const web = useWeb({ GATEWAY_RATE_LIMIT: String(LIMIT) })

  /** The code of the error that is answered to a request with these faults. Of two for one place, the first counts. */
  async function answerTo(path: string, fields: Fields, first: Fault = {}, second: Fault = {}): Promise<string> {
    const account = await web.account()
    const both: Fault = { ...second, ...first }
    if (both.isSpent) for (let request = 0; request < LIMIT; request++) await account.get('/v1/key')
    await changeKey(web.db, account.keyId, { ...second.limits, ...first.limits })
    if (both.isSuspended) await setAccountStatus(web.db, null, account.id, 'suspended')
    const text = JSON.stringify({ ...fields, ...second.fields, ...first.fields })
    const reply = await send('POST', `${web.url}${path}`, {
      key: both.key ?? account.key,
      body: text.slice(0, both.isCut ? -1 : undefined) + ' '.repeat(both.isTooLarge ? 1_048_576 : 0),
      headers: { 'content-type': both.contentType ?? 'application/json', ...both.headers },
    })
    return reply.json.error.type as string
  }

  const image = { model: 'sandbox-image', prompt: 'x' }

  // One order of all is that of each two neighbours.
  for (const [at, [earlier, fault]] of FAULTS.entries())
    it(`has ${earlier} before what comes next`, async () => {
      expect(await answerTo(IMAGES, image, fault)).to.equal(earlier)
      const [later, other] = FAULTS[at + 1] ?? []
      if (other) expect(await answerTo(IMAGES, image, fault, other), `with ${later}`).to.equal(earlier)
    })

  it('is the same for chat: model, then messages, then other fields, then balance', async () => {
    const whole = { model: 'sandbox-chat', messages: [{ role: 'user', content: 'x' }] }
    for (const [fields, code] of [
      [{ model: 'x', messages: [], temperature: 9 }, 'unsupported_model'],
      [{ messages: [], temperature: 9 }, 'invalid_messages'],
      [{ temperature: 9 }, 'invalid_request'],
      [{}, 'insufficient_credits'],
    ] as const)
      expect(await answerTo(CHAT, { ...whole, ...fields })).to.equal(code)
  })

  it('checks an Idempotency-Key with the other fields: before the upstream and the balance', async () => {
    const fault = { headers: { 'idempotency-key': '' } }
    for (const model of ['unavailable-image', 'sandbox-image'])
      expect(await answerTo(IMAGES, { ...image, model }, fault), model).to.equal('invalid_request')
  })
})
