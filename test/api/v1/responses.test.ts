import { expect } from 'chai'
import { randomBytes } from 'node:crypto'
import type OpenAI from 'openai'
import { zodTextFormat } from 'openai/helpers/zod'
import { z } from 'zod'
import { callOf, prompted } from '../../../scripts/harness/calling.ts'
import { findResponses, storeInput } from '../../../src/shared/calls/stored-responses.ts'
import { useAccount, useGateway, useOneAccount } from '../../support/gateway.ts'
import { asked, clientOf, refusal, addDialects, streamed } from './support/responses.ts'

const BALANCE = 10_000_000
const RESPONSES = '/v1/responses'
const SEARCH = { type: 'web_search' }

// Whole and streamed answers: dialects.test.ts. The body as it came: passed-bytes.test.ts. Whose a response is:
// stored-responses.test.ts. Whose thoughts are opened: test/workers/upstreams/responses/promises.test.ts.
describe('POST /v1/responses', () => {
  const gateway = useGateway({}, addDialects)
  const account = useOneAccount(gateway, 1_000_000)
  const client = (): OpenAI => clientOf(gateway, account.key)

  it('answers in the form of a schema', async () => {
    const Weather = z.object({ city: z.string(), degrees: z.number() })
    const parsed = await client().responses.parse({
      ...asked('gpt', prompted('the weather')),
      text: { format: zodTextFormat(Weather, 'weather') },
    })
    expect(Weather.parse(parsed.output_parsed)).to.have.property('city')
  })

  it('sends an upstream of the same dialect an HMAC of its session, and reads a long answer as a stream', async () => {
    const prompt = prompted('[answer fine]')
    const body = { model: 'native', instructions: 'Be brief.', input: prompt, prompt_cache_key: 'session', store: true }
    expect(await client().responses.create(body as never)).to.include({ store: true, instructions: null })
    const sent = gateway.sandbox.journal(prompt).at(-1)!.body as Record<string, unknown>
    expect(sent.prompt_cache_key).to.match(/^[\w-]{43}$/)
    const own = {
      model: 'sandbox/native',
      max_output_tokens: 32_768,
      service_tier: 'default',
      store: false,
      stream: true,
    }
    expect(sent).to.include({ instructions: 'Be brief.', ...own })
  })

  it('lowers the limit of the output to what can be paid, and refuses below that as a spent quota', async () => {
    const poor = await gateway.account(20_000)
    const lowered = await poor.post('/v1/responses', { model: 'claude', input: prompted('[answer short]') })
    expect(Number(lowered.headers.get('x-max-output-tokens'))).to.be.within(4096, 6700)
    const broke = clientOf(gateway, (await gateway.account(5000)).key)
    const refused = await refusal(broke.responses.create({ model: 'claude', input: 'hello' }))
    expect(refused).to.include({ status: 429, type: 'insufficient_quota', code: 'insufficient_credits' })
    expect(refused.headers?.get('x-should-retry')).to.equal('false')
  })

  it('closes what is open of a stream that its deadline cuts, and charges what was delivered', () =>
    Promise.all(
      ['native', 'claude', 'gpt'].map(async (model) => {
        const own = await gateway.account(1_000_000)
        const request = asked(`${model}-hasty`, prompted('[tokens 20] [hang-after 5]'))
        const { response, types, events } = await streamed(clientOf(gateway, own.key), request)
        const closing = ['output_text.done', 'content_part.done', 'output_item.done', 'incomplete']
        expect(types.slice(-4), model).to.deep.equal(closing.map((type) => `response.${type}`))
        expect(response.incomplete_details).to.deep.equal({ reason: 'max_output_tokens' })
        const said = events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join('')
        expect(response.output_text).to.equal(said).and.to.match(/\w/)
        const { credits } = response.usage as unknown as { credits: number }
        expect(await own.balance()).to.equal(1_000_000 - credits)
      }),
    ))

  describe('by a hostile client', () => {
    const account = useAccount(gateway, BALANCE)

    const bodyOf = (more: object = {}) => ({
      model: 'native',
      max_output_tokens: 100,
      input: prompted('[answer fine]'),
      ...more,
    })
    const ask = (more: object = {}, headers: Record<string, string> = {}) =>
      account.post(RESPONSES, bodyOf(more), headers)
    const sentFor = (prompt: string): string => JSON.stringify(gateway.sandbox.journal(prompt).at(-1)!.body)

    it('has no hosted tool run that stands among its items, and is told of those by a short header', async () => {
      const prompt = prompted('[answer fine]')
      const tools = Array.from({ length: 500 }, (_one, at) => ({ ...SEARCH, name: `${'x'.repeat(58)}${at}` }))
      const reply = await ask({
        input: [
          { role: 'user', content: prompt },
          { type: 'configuration_update', tools: [SEARCH, { type: 'function', name: 'kept' }] },
          { type: 'additional_tools', tools },
        ],
      })
      expect(reply.status, reply.text).to.equal(200)
      expect(reply.headers.get('x-tollgate-tools-dropped')!.length).to.be.below(2000)
      expect(sentFor(prompt)).to.contain('kept').and.to.not.contain('web_search')
    })

    it('loses or keeps a response that it deletes while it goes on with it', async () => {
      for (let round = 0; round < 5; round++) {
        const { id } = (await ask()).json
        const path = `${RESPONSES}/${id}`
        const [next, deleted] = await Promise.all([ask({ previous_response_id: id }), account.send('DELETE', path)])
        expect(deleted.status).to.equal(200)
        expect(next.status, next.text).to.be.oneOf([200, 400])
        expect((await account.get(path)).status).to.equal(404)
      }
    })

    it('does not fill the database with long inputs that it goes on with for the price of a picture', async () => {
      const isKept = async (content: string, mostBytes: number): Promise<boolean> => {
        const callId = callOf(await ask({ store: false }))
        await storeInput(gateway.db, { callId, accountId: account.id }, [{ role: 'user', content }], mostBytes)
        const holder = { userId: account.userId, accountId: account.id }
        return (await findResponses(gateway.db, holder, [callId], 10_000_000))!.size === 1
      }
      const long = () => randomBytes(400_000).toString('base64')
      for (const [content, mostBytes, expected] of [
        [long(), 1_000_000, true],
        [long(), 1_000_000, true],
        [long(), 1_000_000, false],
        ['short', 1_000_000, true],
        [long(), 2_000_000, true],
      ] as const)
        expect(await isKept(content, mostBytes)).to.equal(expected)
    })
  })
})
