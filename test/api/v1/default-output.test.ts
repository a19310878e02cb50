import { expect } from 'chai'
import { CHAT, chatBody, prompted } from '../../../scripts/harness/calling.ts'
import { changeKey } from '../../../src/shared/identity/key-limits.ts'
import { useGateway } from '../../support/gateway.ts'

/** One credit a token of output, and nothing for input: what is reserved is the limit. */
const pricing = { input: 0, output: 1, perTokens: 1, minimum: 1 }
const upstreams = [{ upstream: 'sandbox', model: 'gpt-sandbox' }]

// To what a limit is lowered: calls/credit-limit.test.ts.
describe('the limit of the output of a chat', () => {
  const gateway = useGateway({}, ({ models }) => {
    for (const [id, more] of Object.entries({
      agents: { defaultOutputTokens: 16_384, maxOutputTokens: 128_000 },
      tiny: { defaultOutputTokens: 500 },
      plain: { maxOutputTokens: 128_000 },
      short: { maxOutputTokens: 100 },
    }))
      models.push({ id, modality: 'chat', pricing, upstreams, ...more })
  })

  const LIMITS: [fields: object, limit: number, credits?: number][] = [
    [{ model: 'agents' }, 16_384],
    [{ model: 'agents', max_tokens: null }, 16_384],
    [{ model: 'agents', stream: true }, 5000, 10_000],
    [{ model: 'agents', n: 2 }, 8000, 32_001],
    [{ model: 'agents' }, 4096, 4096],
    [{ model: 'plain' }, 1024],
    [{ model: 'tiny' }, 500],
    [{ model: 'short', max_tokens: 5000 }, 100],
    [{ model: 'plain', max_tokens: 7, max_completion_tokens: 5000 }, 7],
    [{ model: 'plain', max_completion_tokens: 8 }, 8],
  ]
  for (const [fields, limit, credits = 100_000] of LIMITS)
    it(`is ${limit} for ${JSON.stringify(fields)} and ${credits} credits, sent and charged`, async () => {
      const account = await gateway.account(credits)
      const content = prompted()
      const reply = await account.chat(content, fields)
      expect(reply.status, reply.text).to.equal(200)
      const { body } = gateway.sandbox.journal(content).at(-1)!
      expect(body).to.include({ max_tokens: limit }).and.not.have.property('max_completion_tokens')
      if (!('max_tokens' in fields && fields.max_tokens) && !('max_completion_tokens' in fields))
        expect(reply.headers.get('x-max-output-tokens')).to.equal(String(limit))
      const choices = 'n' in fields ? 2 : 1
      expect((await gateway.record(reply)).creditsPrecharged).to.equal(limit * choices)
    })

  it('is quoted as it would be charged', async () => {
    for (const [credits, charge, affordable] of [
      [50_000, 16_384, true],
      [9000, 4500, true],
      [4000, 16_384, false],
    ] as const) {
      const account = await gateway.account(credits)
      const { json } = await account.post('/v1/quotes', { endpoint: CHAT, body: chatBody('x', { model: 'agents' }) })
      expect(json).to.include({ credits: charge, affordable })
    }
  })

  it('is named where a call is refused, with what is left of the balance or the budget, or the debt', async () => {
    const [poor, rich, owing] = [await gateway.account(120), await gateway.account(100_000), await gateway.account()]
    await changeKey(gateway.db, rich.keyId, { budget: { credits: 1, period: 'total' } })
    await gateway.db('accounts').where({ id: owing.id }).update({ debt: 30 })
    const ofBudget = '1 is left of the budget of this key.'
    for (const [asked, message] of [
      [() => poor.chat('x', { model: 'agents' }), 'This call reserves 16384 credits (max_tokens 16384); 120 are left.'],
      [
        () => poor.chat('x', { model: 'agents', max_tokens: 128_000 }),
        'This call reserves 128000 credits (max_tokens 128000); 120 are left. ' +
          'Ask for less with a lower max_tokens. Nothing was charged.',
      ],
      [
        () => rich.chat('x', { model: 'agents', max_tokens: 4, n: 2 }),
        `This call reserves 8 credits (max_tokens 4, n 2); ${ofBudget}`,
      ],
      [() => rich.image('x'), `This call reserves 40 credits; ${ofBudget} Nothing was charged.`],
      [
        () => owing.chat('x', { model: 'agents' }),
        'This account owes 30 credits for earlier calls, which the next credits repay. Nothing was charged.',
      ],
    ] as const) {
      const { status, json } = await asked()
      expect(status).to.equal(402)
      expect(json.error.message).to.include(message)
    }
    await gateway.db('accounts').where({ id: owing.id }).update({ debt: 0 })
  })
})
