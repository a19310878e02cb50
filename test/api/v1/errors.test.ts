import { expect } from 'chai'
import { messageOf, statusOf } from '../../../src/shared/platform/errors.ts'
import type { ErrorCode } from '../../../src/shared/platform/errors.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { CHAT, IMAGES, VIDEOS, chatBody, imageBody, prompted } from '../../../scripts/harness/calling.ts'
import { expectError } from './support/errors.ts'
import { useAccount, useGateway } from '../../support/gateway.ts'

describe('refusals of the gateway', () => {
  const gateway = useGateway()
  const account = useAccount(gateway, 100)

  /** What no refusal must do. */
  async function expectUntouched(reply: Reply, code: ErrorCode): Promise<void> {
    expect(await account.balance()).to.equal(100)
    expect(await gateway.movements(reply)).to.deep.equal([])
    expect(await account.counts()).to.deep.equal({ calls: 1, charged: 0, entries: 1 })
    const nothing = { credits: 0, creditsPrecharged: 0, attempts: 0, upstream: null, count: 1 }
    const refused = { status: 'rejected', httpStatus: statusOf(code), errorType: code }
    expect(await gateway.record(reply)).to.include({ ...refused, ...nothing })
  }

  const imageOf = (model: unknown) => imageBody('x', { model })
  const chatOf = (more: object) => chatBody('x', more)
  const large = JSON.stringify(chatBody('x'.repeat(1_048_576)))
  const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
  type Row = [code: ErrorCode, when: string, path: string, body: unknown, param?: string | null, headers?: object]
  const OF_MODELS = (
    [
      ['the model does not exist', IMAGES, imageOf('nothing')],
      ['the model is no text', CHAT, chatOf({ model: 7 })],
      ['the model is disabled', IMAGES, imageOf('disabled-image')],
      ['an image model is asked to chat', CHAT, chatOf({ model: 'sandbox-image' })],
      ['an image model is asked for a video', VIDEOS, imageOf('sandbox-image')],
      ['the model is a property of objects', IMAGES, imageOf('__proto__')],
    ] as const
  ).map((row): Row => ['unsupported_model', ...row, 'model'])
  const ROWS: Row[] = [
    ...OF_MODELS,
    ['invalid_prompt', 'the prompt is missing', IMAGES, { model: 'sandbox-image' }, 'prompt'],
    ['invalid_messages', 'the messages are missing', CHAT, { model: 'sandbox-chat' }, 'messages'],
    ['invalid_request', 'another field is bad', IMAGES, imageBody('x', { resolution: '!' }), 'resolution'],
    ['upstream_unavailable', 'no upstream of the model is configured', IMAGES, imageOf('unavailable-image'), 'model'],
    ['insufficient_credits', 'a video costs more than the balance', VIDEOS, imageOf('sandbox-video')],
    ['insufficient_credits', 'a chat may cost more than the balance', CHAT, chatOf({ model: 'dear-chat' })],
    ['invalid_json', 'the body is not JSON', CHAT, '{"model":'],
    ['invalid_json', 'the body is an array', CHAT, '[]'],
    ['payload_too_large', 'the body has more than 1 MB', CHAT, large],
    ['unsupported_media_type', 'the type of the body is not JSON', CHAT, 'model=x', null, FORM],
    // White space around a header's value is not part of it.
    ...['', ' '.repeat(3), 'ü', 'x'.repeat(256)].map((key): Row => {
      const when = `the Idempotency-Key is ${JSON.stringify(key.slice(0, 4))} of ${key.length} characters`
      return ['invalid_request', when, IMAGES, imageBody('x'), 'Idempotency-Key', { 'idempotency-key': key }]
    }),
  ]
  for (const [code, when, path, body, param, headers] of ROWS)
    it(`answer ${statusOf(code)} ${code} if ${when}, charge nothing, and record it`, async () => {
      const reply = await account.post(path, body, headers as Record<string, string>)
      expectError(reply, code, param)
      await expectUntouched(reply, code)
    })

  it('answer 404 not_found to unknown paths and calls', async () => {
    for (const path of ['/v1', '/v1/', '/v1/nothing', '/v1/chat', '/v1/images', '/v2/models', '/v1/models/'])
      expect((await account.get(path)).status, path).to.equal(404)
    const none = ['call_1', 'x', `call_${'0'.repeat(32)}`, "call_'--", '%00', `call_${'a'.repeat(10_000)}`, '%zz']
    for (const id of none) expectError(await account.get(`/v1/calls/${id}`), 'not_found')
  })

  it('have the message of the catalogue of errors by default', async () => {
    const { json } = await account.post(VIDEOS, { model: 'no-such-model', prompt: 'x' })
    expect(json.error.message).to.equal(messageOf('unsupported_model'))
    for (const path of [CHAT, IMAGES, VIDEOS])
      expect((await account.post(path, {})).json.error.message, path).to.match(/^model is missing/)
  })

  it("carry the client's own X-Request-Id if it is valid and has at most 128 characters", async () => {
    const answered = async (id: string) =>
      (await account.get('/v1/models', { 'x-request-id': id })).headers.get('x-request-id')
    for (const id of ['abc', 'a'.repeat(128), '018f-77:x/y=z@w+v.u_t-s']) expect(await answered(id)).to.equal(id)
    for (const id of ['', 'a'.repeat(129), 'two words', '<script>', '"quoted"', 'tab\there'])
      expect(await answered(id)).to.match(/^[0-9a-f-]{36}$/)
  })

  it('carry the X-Call-Id of their record, which has the named model, truncated to what it holds', async () => {
    for (const reply of [await account.chat('x'), await account.image('x'), await account.image('')])
      expect((await gateway.record(reply)).id).to.equal(reply.headers.get('x-call-id'))
    for (const model of ['a\u0000b', '\ud800', 'x'.repeat(5000), '😀'.repeat(300), '']) {
      const reply = await account.image('x', { model })
      expectError(reply, 'unsupported_model', 'model')
      expect(Array.from((await gateway.record(reply)).model).length).to.be.at.most(200)
    }
  })

  it('leave nothing of a prompt or a message in the database', async () => {
    const secret = prompted()
    await account.chat(secret)
    await account.image(secret)
    await account.image(secret, { resolution: '!' })
    const { rows } = await gateway.db.raw<{ rows: { found: number }[] }>(
      `SELECT count(*) AS found FROM calls c LEFT JOIN call_results r ON r.call_id = c.id
       WHERE c.account_id = ? AND (c::text || coalesce(r::text, '')) LIKE ?`,
      [account.id, `%${secret}%`],
    )
    expect(rows[0]!.found).to.equal(0)
  })
})
