import Anthropic, { APIError, AuthenticationError, BadRequestError, NotFoundError } from '@anthropic-ai/sdk'
import { expect } from 'chai'
import { setAccountStatus } from '../../../src/shared/operators/changes.ts'
import { useWeb } from '../../support/gateway.ts'
import type { Caller } from '../../support/caller.ts'
import { refusal as refusalOf } from './support/errors.ts'

const CHATS = ['sandbox-chat', 'dear-chat', 'hasty-chat', 'fallback-chat', 'maker/chat']

describe("Anthropic's own SDK", () => {
  const web = useWeb({}, ({ models }) => {
    const chat = models.find(({ id }) => id === 'sandbox-chat')!
    models.push({ ...chat, id: 'maker/chat', name: 'A chat', contextLength: 200_000, maxOutputTokens: 8000 })
  })
  let account: Caller
  before(async () => {
    account = await web.account()
  })

  const client = (options: object = {}): Anthropic =>
    new Anthropic({ baseURL: web.url, apiKey: account.key, maxRetries: 0, ...options })

  const refusal = (request: PromiseLike<unknown>): Promise<APIError> => refusalOf(request, APIError)

  it('lists the chats page by page, with a key in either header', async () => {
    const authorization = `Bearer ${account.key}`
    for (const keys of [{}, { apiKey: null, authToken: account.key }, { defaultHeaders: { authorization } }]) {
      const first = await client(keys).models.list({ limit: 3 })
      expect([first.data.map(({ id }) => id), first.has_more]).to.deep.equal([CHATS.slice(0, 3), true])
      const second = await first.getNextPage()
      expect([second.data.map(({ id }) => id), second.has_more]).to.deep.equal([CHATS.slice(3), false])
      expect(second.hasNextPage()).to.equal(false)
    }
    const all: string[] = []
    for await (const { id } of client().models.list({ limit: 1 })) all.push(id)
    expect(all).to.deep.equal(CHATS)
    expect((await client().models.list()).data.map(({ id }) => id)).to.deep.equal(CHATS)
  })

  it('lists them backwards from one of them', async () => {
    const page = await client().models.list({ limit: 2, before_id: 'fallback-chat' })
    expect([page.data.map(({ id }) => id), page.has_more]).to.deep.equal([['dear-chat', 'hasty-chat'], true])
    const earlier = await page.getNextPage()
    expect([earlier.data.map(({ id }) => id), earlier.has_more]).to.deep.equal([['sandbox-chat'], false])
  })

  it('retrieves a chat, whose id has a slash', async () => {
    const { data: model, request_id: id } = await client().models.retrieve('maker/chat').withResponse()
    const { created_at: created, ...rest } = model
    expect(rest).to.deep.equal({
      type: 'model',
      id: 'maker/chat',
      display_name: 'A chat',
      max_input_tokens: 200_000,
      max_tokens: 8000,
      capabilities: null,
      lifecycle: 'active',
      line: null,
      deprecated_at: null,
      retires_at: null,
    })
    expect(created).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/)
    expect(id).to.be.a('string').and.not.equal('')
  })

  it('throws its own errors, with their types and the id of the request', async () => {
    const refused = [
      [() => client().models.retrieve('none'), NotFoundError, 404, 'not_found_error'],
      [() => client().models.retrieve('sandbox-image'), NotFoundError, 404, 'not_found_error'],
      [() => client({ apiKey: 'tg_nonsense' }).models.list(), AuthenticationError, 401, 'authentication_error'],
      [
        () => client({ defaultHeaders: { authorization: 'Bearer x' } }).models.list(),
        AuthenticationError,
        401,
        'authentication_error',
      ],
      [() => client().models.list({ limit: 0 }), BadRequestError, 400, 'invalid_request_error'],
      [() => client().models.list({ after_id: 'none' }), BadRequestError, 400, 'invalid_request_error'],
    ] as const
    for (const [request, kind, status, type] of refused) {
      const error = await refusal(request())
      expect(error).to.be.an.instanceOf(kind).and.include({ status, type })
      expect((error.error as { request_id: string }).request_id)
        .to.equal(error.requestID)
        .and.be.a('string')
    }
    const suspended = await web.account()
    await setAccountStatus(web.db, null, suspended.id, 'suspended')
    expect(await refusal(client({ apiKey: suspended.key }).models.list())).to.include({
      status: 403,
      type: 'permission_error',
    })
  })
})
