import Anthropic, { APIError, AuthenticationError, BadRequestError, NotFoundError } from '@anthropic-ai/sdk'
import { expect } from 'chai'
import { setAccountStatus } from '../../../src/shared/operators/changes.ts'
import { useOneAccount, useWeb } from '../../support/gateway.ts'
import { refusal } from './support/errors.ts'

const CHATS = ['sandbox-chat', 'dear-chat', 'hasty-chat', 'fallback-chat', 'maker/chat']

describe("Anthropic's own SDK", () => {
  const web = useWeb({}, ({ models }) => {
    const chat = models.find(({ id }) => id === 'sandbox-chat')!
    models.push({ ...chat, id: 'maker/chat', name: 'A chat', contextLength: 200_000, maxOutputTokens: 8000 })
  })
  const account = useOneAccount(web)

  const client = (options: object = {}): Anthropic =>
    new Anthropic({ baseURL: web.url, apiKey: account.key, maxRetries: 0, ...options })
  type Page = Awaited<ReturnType<ReturnType<typeof client>['models']['list']>>
  const shown = ({ data, has_more: more }: Page) => [data.map(({ id }) => id), more]

  it('lists the chats page by page, and backwards from one of them', async () => {
    const all: string[] = []
    for await (const { id } of client().models.list({ limit: 3 })) all.push(id)
    expect([all, false])
      .to.deep.equal(shown(await client().models.list()))
      .and.to.deep.equal([CHATS, false])
    const page = await client().models.list({ limit: 2, before_id: 'fallback-chat' })
    expect(shown(page)).to.deep.equal([['dear-chat', 'hasty-chat'], true])
    expect(shown(await page.getNextPage())).to.deep.equal([['sandbox-chat'], false])
  })

  it('retrieves a chat, whose id has a slash', async () => {
    const { data: model, request_id: id } = await client().models.retrieve('maker/chat').withResponse()
    const { created_at: created, ...rest } = model
    const stated = {
      type: 'model',
      id: 'maker/chat',
      display_name: 'A chat',
      max_input_tokens: 200_000,
      max_tokens: 8000,
    }
    const none = { capabilities: null, line: null, deprecated_at: null, retires_at: null }
    expect(rest).to.deep.equal({ ...stated, ...none, lifecycle: 'active' })
    expect(created).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/)
    expect(id).to.be.a('string').and.not.equal('')
  })

  it('throws its own errors, with their types and the id of the request', async () => {
    const suspended = await web.account()
    await setAccountStatus(web.db, null, suspended.id, 'suspended')
    for (const [request, kind, status, type] of [
      [() => client().models.retrieve('none'), NotFoundError, 404, 'not_found_error'],
      [() => client({ apiKey: 'tg_nonsense' }).models.list(), AuthenticationError, 401, 'authentication_error'],
      [() => client().models.list({ limit: 0 }), BadRequestError, 400, 'invalid_request_error'],
      [() => client({ apiKey: suspended.key }).models.list(), APIError, 403, 'permission_error'],
    ] as const) {
      const error = await refusal<APIError>(request(), kind)
      expect(error).to.include({ status, type })
      const { request_id: id } = error.error as { request_id: string }
      expect(id).to.equal(error.requestID).and.be.a('string')
    }
  })

  it('asks once where the balance is refused, though it retries, whole and streamed', async () => {
    let requests = 0
    const counting: typeof fetch = (...request) => {
      requests += 1
      return fetch(...request)
    }
    const asked = { model: 'sandbox-chat', max_tokens: 9000, messages: [{ role: 'user' as const, content: 'hi' }] }
    for (const stream of [false, true]) {
      const request = client({ maxRetries: 3, fetch: counting }).messages.create({ ...asked, stream })
      expect(await refusal(request, APIError)).to.include({ status: 402, type: 'billing_error' })
    }
    expect(requests).to.equal(2)
  })
})
