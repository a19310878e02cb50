import { expect } from 'chai'
import { setAccountStatus } from '../../../src/shared/operators/changes.ts'
import { messageOf, statusOf } from '../../../src/shared/platform/errors.ts'
import type { ErrorCode } from '../../../src/shared/platform/errors.ts'
import { send } from '../../../scripts/harness/http.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { CHAT, IMAGES, VIDEOS, chat, chatBody, image, imageBody, prompted } from '../../../scripts/harness/calling.ts'
import { expectError } from './support/errors.ts'
import { useAccount, useGateway } from '../../support/gateway.ts'

describe('refusals of the gateway', () => {
  const gateway = useGateway()
  const account = useAccount(gateway, 100)

  const request = (
    path: string,
    body: unknown,
    headers: Record<string, string> = {},
    key: string | undefined = account.key,
  ): Promise<Reply> => send('POST', `${gateway.url}${path}`, { key, body, headers })

  /** What no refusal must do. */
  async function expectUntouched(reply: Reply, code: ErrorCode): Promise<void> {
    expect(await account.balance()).to.equal(100)
    expect(await gateway.movements(reply)).to.deep.equal([])
    expect(await account.counts()).to.deep.equal({ calls: 1, charged: 0, entries: 1 })
    expect(await gateway.record(reply)).to.include({
      status: 'rejected',
      httpStatus: statusOf(code),
      errorType: code,
      credits: 0,
      creditsPrecharged: 0,
      attempts: 0,
      upstream: null,
      count: 1,
    })
  }

  const imageOf = (model: unknown) => imageBody('x', { model })
  const chatOf = (more: object) => chatBody('x', more)
  const large = JSON.stringify(chatBody('x'.repeat(1_048_576)))
  type Row = [code: ErrorCode, when: string, path: string, body: unknown, param?: string]
  const OF_MODELS = (
    [
      ['the model does not exist', IMAGES, imageOf('nothing')],
      ['the model is missing', IMAGES, { prompt: 'x' }],
      ['the model is no text', CHAT, chatOf({ model: 7 })],
      ['the model is null', CHAT, chatOf({ model: null })],
      ['the model is disabled', IMAGES, imageOf('disabled-image')],
      ['an image model is asked to chat', CHAT, chatOf({ model: 'sandbox-image' })],
      ['a chat model is asked for an image', IMAGES, imageOf('sandbox-chat')],
      ['an image model is asked for a video', VIDEOS, imageOf('sandbox-image')],
      ['a video model is asked for an image', IMAGES, imageOf('sandbox-video')],
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
  ]
  for (const [code, when, path, body, param] of ROWS) {
    it(`answer ${statusOf(code)} ${code} if ${when}, charge nothing, and record it`, async () => {
      const reply = await request(path, body)
      expectError(reply, code, param)
      await expectUntouched(reply, code)
    })
  }

  it('answer 415 unsupported_media_type to a body whose type is not JSON', async () => {
    const reply = await request(CHAT, 'model=x', { 'content-type': 'application/x-www-form-urlencoded' })
    expectError(reply, 'unsupported_media_type')
    await expectUntouched(reply, 'unsupported_media_type')
  })

  it('answer 422 idempotency_conflict to a used key with another body, and charge nothing', async () => {
    const key = { 'idempotency-key': 'one' }
    const first = await account.image(prompted(), {}, key)
    expect(first.status).to.equal(200)
    const reply = await account.image(prompted(), {}, key)
    expectError(reply, 'idempotency_conflict', 'Idempotency-Key')
    expect(await gateway.record(reply)).to.include({ status: 'rejected', errorType: 'idempotency_conflict' })
    expect(await account.balance()).to.equal(60)
  })

  for (const key of ['', ' '.repeat(3), 'ü', 'x'.repeat(256)]) {
    const shown = `${JSON.stringify(key.slice(0, 4))}… (${key.length} characters)`
    it(`answer 400 invalid_request to an Idempotency-Key of ${shown}`, async () => {
      const reply = await account.image('x', {}, { 'idempotency-key': key })
      // White space around a header's value is not part of it.
      expectError(reply, 'invalid_request', 'Idempotency-Key')
    })
  }

  it('answer 403 account_suspended to a suspended account until it is active again', async () => {
    await setAccountStatus(gateway.db, null, account.id, 'suspended')
    const reply = await account.image('x')
    expectError(reply, 'account_suspended')
    await expectUntouched(reply, 'account_suspended')
    expectError(await account.get('/v1/models'), 'account_suspended')
    expectError(await account.get('/v1/calls/call_1'), 'account_suspended')
    await setAccountStatus(gateway.db, null, account.id, 'active')
    expect((await account.get('/v1/models')).status).to.equal(200)
  })

  it('answer 404 not_found to unknown paths and calls', async () => {
    for (const path of ['/v1', '/v1/', '/v1/nothing', '/v1/chat', '/v1/images', '/v2/models', '/v1/models/']) {
      const reply = await account.get(path)
      expect(reply.status, path).to.equal(404)
    }
    for (const id of ['call_1', 'x', `call_${'0'.repeat(32)}`, "call_'--", '%00', `call_${'a'.repeat(10_000)}`]) {
      expectError(await account.get(`/v1/calls/${id}`), 'not_found')
    }
    expectError(await account.get('/v1/calls/%zz'), 'not_found')
  })

  it('answer 405 method_not_allowed with the allowed methods', async () => {
    for (const [method, path, allow] of [
      ['GET', IMAGES, 'POST'],
      ['PUT', CHAT, 'POST'],
      ['DELETE', VIDEOS, 'POST'],
      ['PATCH', CHAT, 'POST'],
      ['OPTIONS', IMAGES, 'POST'],
      ['POST', '/v1/models', 'GET, HEAD'],
      ['DELETE', '/v1/models', 'GET, HEAD'],
      ['DELETE', '/v1/models/maker/chat', 'GET, HEAD'],
      ['POST', '/v1/calls/call_1', 'GET, HEAD'],
    ] as const) {
      const reply = await send(method, `${gateway.url}${path}`, { key: account.key })
      expectError(reply, 'method_not_allowed')
      expect(reply.headers.get('allow'), `${method} ${path}`).to.equal(allow)
    }
  })

  it('have the message of the catalogue of errors by default', async () => {
    const reply = await request(VIDEOS, { model: 'no-such-model', prompt: 'x' })
    expect(reply.json.error.message).to.equal(messageOf('unsupported_model'))
    for (const path of [CHAT, IMAGES, VIDEOS])
      expect((await request(path, {})).json.error.message, path).to.match(/^model is missing/)
  })

  describe('carry ids', () => {
    it("X-Request-Id is the client's own if it is valid and has at most 128 characters", async () => {
      for (const id of ['abc', 'a'.repeat(128), '018f-77:x/y=z@w+v.u_t-s']) {
        expect((await account.get('/v1/models', { 'x-request-id': id })).headers.get('x-request-id')).to.equal(id)
      }
      for (const id of ['', 'a'.repeat(129), 'two words', '<script>', '"quoted"', 'tab\there']) {
        const answered = (await account.get('/v1/models', { 'x-request-id': id })).headers.get('x-request-id')
        expect(answered).to.match(/^[0-9a-f-]{36}$/)
      }
    })

    it('X-Call-Id is on every answer of a call, and the same in its record', async () => {
      const replies = [await account.chat('x'), await account.image('x'), await account.image('')]
      for (const reply of replies) expect((await gateway.record(reply)).id).to.equal(reply.headers.get('x-call-id'))
    })
  })

  it('are recorded with the model that the client named, truncated to what a record holds', async () => {
    for (const model of ['a\u0000b', '\ud800', 'x'.repeat(5000), '😀'.repeat(300), '']) {
      const reply = await request(IMAGES, JSON.stringify({ model, prompt: 'x' }))
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
