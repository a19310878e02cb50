import { expect } from 'chai'
import { newSecret } from '../../../src/shared/identity/api-keys.ts'
import type { KeyChanges } from '../../../src/shared/identity/key-limits.ts'
import { changeKey } from '../../../src/shared/identity/key-limits.ts'
import { setAccountStatus } from '../../../src/shared/operators/changes.ts'
import type { ErrorCode } from '../../../src/shared/platform/errors.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import type { Gateway } from '../../../scripts/harness/harness.ts'
import { startGateway } from '../../../scripts/harness/harness.ts'
import { get, send } from '../../../scripts/harness/http.ts'
import { CHAT, IMAGES } from '../../../scripts/harness/calling.ts'

/** A request with a growing number of faults. */
type Draft = {
  account: TestAccount
  key: string
  contentType: string
  fields: Record<string, unknown>
  spoil: (text: string) => string
  headers: Record<string, string>
  limits: KeyChanges
  isSuspended: boolean
  isSpent: boolean
}

/** The faults in the order in which they are reported (docs/api/errors.md#the-order-of-checks). */
const FAULTS: [code: ErrorCode, spoil: (draft: Draft, path: string) => void][] = [
  [
    'unauthorized',
    (draft) => {
      draft.key = newSecret()
    },
  ],
  [
    'ip_not_allowed',
    (draft) => {
      draft.limits.allowedIps = ['192.0.2.0/24']
    },
  ],
  [
    'account_suspended',
    (draft) => {
      draft.isSuspended = true
    },
  ],
  [
    'rate_limited',
    (draft) => {
      draft.isSpent = true
    },
  ],
  [
    'unsupported_media_type',
    (draft) => {
      draft.contentType = 'text/plain'
    },
  ],
  [
    'payload_too_large',
    (draft) => {
      const before = draft.spoil
      draft.spoil = (text) => before(text) + ' '.repeat(1_048_576)
    },
  ],
  [
    'invalid_json',
    (draft) => {
      const before = draft.spoil
      draft.spoil = (text) => before(text.slice(0, -1))
    },
  ],
  [
    'unsupported_model',
    (draft) => {
      draft.fields.model = 'nothing'
    },
  ],
  [
    'model_not_allowed',
    (draft) => {
      draft.limits.models = ['sandbox-chat']
    },
  ],
  [
    'invalid_prompt',
    (draft) => {
      draft.fields.prompt = ''
    },
  ],
  [
    'invalid_request',
    (draft) => {
      draft.fields.resolution = '!'
    },
  ],
  [
    'upstream_unavailable',
    (draft) => {
      draft.fields.model = 'unavailable-image'
    },
  ],
  [
    'price_above_limit',
    (draft) => {
      draft.headers['x-max-credits'] = '1'
    },
  ],
  [
    'key_budget_exceeded',
    (draft) => {
      draft.limits.budget = { credits: 39, period: 'day' }
    },
  ],
  ['insufficient_credits', () => {}],
]

const LIMIT = 2

describe("the order of a call's checks", () => {
  let gateway: Gateway
  before(async () => {
    gateway = await startGateway({ GATEWAY_RATE_LIMIT: String(LIMIT) })
  })
  after(() => gateway.stop())

  async function answerTo(
    path: string,
    fields: Record<string, unknown>,
    spoils: ((draft: Draft, path: string) => void)[],
  ): Promise<string> {
    const account = await anAccount(gateway.db)
    const draft: Draft = {
      account,
      key: account.key,
      contentType: 'application/json',
      fields,
      spoil: (text) => text,
      headers: {},
      limits: {},
      isSuspended: false,
      isSpent: false,
    }
    for (const spoil of spoils) spoil(draft, path)
    if (draft.isSpent) for (let request = 0; request < LIMIT; request++) await get(`${gateway.url}/v1/key`, account.key)
    await changeKey(gateway.db, account.keyId, draft.limits)
    if (draft.isSuspended) await setAccountStatus(gateway.db, null, account.id, 'suspended')
    const reply = await send('POST', `${gateway.url}${path}`, {
      key: draft.key,
      body: draft.spoil(JSON.stringify(draft.fields)),
      headers: { 'content-type': draft.contentType, ...draft.headers },
    })
    return reply.json.error.type as string
  }

  FAULTS.forEach(([earlier, spoilEarlier], at) => {
    it(`has ${earlier} before all later ones`, async () => {
      for (const [later, spoilLater] of FAULTS.slice(at + 1)) {
        // A model that does not exist has no upstreams that could be missing.
        if (earlier === 'unsupported_model' && later === 'upstream_unavailable') continue
        const fields = { model: 'sandbox-image', prompt: 'x' }
        expect(await answerTo(IMAGES, fields, [spoilLater, spoilEarlier]), `with ${later}`).to.equal(earlier)
      }
      if (at === FAULTS.length - 1)
        expect(await answerTo(IMAGES, { model: 'sandbox-image', prompt: 'x' }, [])).to.equal(earlier)
    })
  })

  it('is the same for chat: model, then messages, then other fields, then balance', async () => {
    const whole = { model: 'sandbox-chat', messages: [{ role: 'user', content: 'x' }] }
    expect(await answerTo(CHAT, { ...whole, model: 'x', messages: [], temperature: 9 }, [])).to.equal(
      'unsupported_model',
    )
    expect(await answerTo(CHAT, { ...whole, messages: [], temperature: 9 }, [])).to.equal('invalid_messages')
    expect(await answerTo(CHAT, { ...whole, temperature: 9 }, [])).to.equal('invalid_request')
    expect(await answerTo(CHAT, whole, [])).to.equal('insufficient_credits')
  })

  it('checks an Idempotency-Key with the other fields: before the upstream and the balance', async () => {
    for (const model of ['unavailable-image', 'sandbox-image']) {
      const { key } = await anAccount(gateway.db)
      const reply = await send('POST', `${gateway.url}${IMAGES}`, {
        key,
        body: { model, prompt: 'x' },
        headers: { 'idempotency-key': '' },
      })
      expect(reply.json.error.type, model).to.equal('invalid_request')
    }
  })
})
