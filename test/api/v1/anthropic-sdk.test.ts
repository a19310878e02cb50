import Anthropic, { APIError, AuthenticationError, BadRequestError, NotFoundError } from '@anthropic-ai/sdk'
import { expect } from 'chai'
import { setAccountStatus } from '../../../src/shared/operators/changes.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import type { Gateway } from '../../../scripts/harness/harness.ts'
import { startGateway } from '../../../scripts/harness/harness.ts'
import { prompted } from '../../../scripts/harness/calling.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import { claudeAndGpt } from './support/claude-and-gpt.ts'

const CHATS = ['sandbox-chat', 'dear-chat', 'hasty-chat', 'fallback-chat', 'maker/chat']

describe("Anthropic's own SDK", () => {
  let gateway: Gateway
  let account: TestAccount
  before(async () => {
    gateway = await startGateway({}, ({ models }) => {
      const chat = models.find(({ id }) => id === 'sandbox-chat')!
      models.push({ ...chat, id: 'maker/chat', name: 'A chat', contextLength: 200_000, maxOutputTokens: 8000 })
    })
    account = await anAccount(gateway.db)
  })
  after(() => gateway.stop())

  const client = (options: object = {}): Anthropic =>
    new Anthropic({ baseURL: gateway.url, apiKey: account.key, maxRetries: 0, ...options })

  /** The error that a request is refused with. */
  async function refusal(request: PromiseLike<unknown>): Promise<APIError> {
    try {
      await request
    } catch (error) {
      expect(error).to.be.an.instanceOf(APIError)
      return error as APIError
    }
    throw new Error('was taken')
  }

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
    const suspended = await anAccount(gateway.db)
    await setAccountStatus(gateway.db, null, suspended.id, 'suspended')
    expect(await refusal(client({ apiKey: suspended.key }).models.list())).to.include({
      status: 403,
      type: 'permission_error',
    })
  })
})

const THOUGHT = 'Both of them, I think.'
const TOOLS = ['get_weather', 'get_time'].map((name): Anthropic.Tool => ({
  name,
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}))

describe("a conversation by Anthropic's own SDK, with thinking and parallel tools", () => {
  let gateway: Gateway
  let account: TestAccount
  before(async () => {
    gateway = await startGateway({}, claudeAndGpt)
    account = await anAccount(gateway.db, 1_000_000)
  })
  after(() => gateway.stop())
  afterEach(() => expectBooksToBalance(gateway.db))

  type Turn = Anthropic.MessageParam

  async function answerTo(model: string, messages: Turn[], stream: boolean): Promise<Anthropic.Message> {
    const client = new Anthropic({ baseURL: gateway.url, apiKey: account.key, maxRetries: 0 })
    const thinking = { type: 'enabled' as const, budget_tokens: 1024 }
    const asked = { model, max_tokens: 3000, thinking, tools: TOOLS, messages }
    return stream ? client.messages.stream(asked).finalMessage() : client.messages.create(asked)
  }

  const kindsOf = ({ content }: Anthropic.Message) =>
    content.map((block) => (block.type === 'tool_use' ? block.name : block.type))

  const resultsOf = ({ content }: Anthropic.Message): Anthropic.ToolResultBlockParam[] =>
    content.flatMap((block) =>
      block.type === 'tool_use' ? [{ type: 'tool_result', tool_use_id: block.id, content: `of ${block.name}` }] : [],
    )

  /** Two answers with calls, and a third one; with the prompt of the last question, and all that was said before. */
  async function conversation(model: string, stream: boolean) {
    const calling = () => prompted(`[tools 2] [thoughts ${THOUGHT}] [answer Let me look.]`)
    const said: Turn[] = [{ role: 'user', content: calling() }]
    const answers: Anthropic.Message[] = []
    for (const prompt of [calling(), prompted(`[answer Done.] [thoughts ${THOUGHT}]`)]) {
      const answer = await answerTo(model, said, stream)
      answers.push(answer)
      said.push(
        { role: 'assistant', content: answer.content },
        { role: 'user', content: [...resultsOf(answer), { type: 'text', text: prompt }] },
      )
    }
    const last = await answerTo(model, said, stream)
    const prompt = (said.at(-1)!.content as Anthropic.TextBlockParam[]).at(-1)!.text
    return { answers, last, said, sent: gateway.sandbox.journal(prompt).at(-1)!.body as { messages: unknown[] } }
  }

  for (const stream of [false, true]) {
    const how = stream ? 'streamed' : 'whole'

    it(`gives its thoughts and calls back byte for byte to an upstream of the same dialect, ${how}`, async () => {
      const { answers, last, said, sent } = await conversation('claude', stream)
      for (const answer of answers) {
        expect(answer.stop_reason).to.equal('tool_use')
        expect(kindsOf(answer)).to.deep.equal(['thinking', 'text', 'get_weather', 'get_time'])
        expect(answer.content[0]).to.deep.include({ thinking: THOUGHT }).and.property('signature').match(/.{40}/)
      }
      expect(kindsOf(last)).to.deep.equal(['thinking', 'text'])
      expect(last.content.at(-1)).to.deep.include({ type: 'text', text: 'Done.' })
      // The sandbox takes no signature but its own, for the very text that it signed.
      expect(sent.messages).to.deep.equal(said)
    })

    it(`reads its thoughts and calls over chat completions, ${how}`, async () => {
      const { answers, last, sent } = await conversation('gpt', stream)
      for (const answer of answers) {
        expect(kindsOf(answer)).to.deep.equal(['thinking', 'text', 'get_weather', 'get_time'])
        expect(answer.content[0]).to.deep.include({ thinking: THOUGHT, signature: '' })
      }
      expect(last.content.at(-1)).to.deep.equal({ type: 'text', text: 'Done.' })
      const roles = ['assistant', 'tool', 'tool', 'user']
      const messages = sent.messages as { role: string; tool_calls?: { id: string }[]; tool_call_id?: string }[]
      expect(messages.map(({ role }) => role)).to.deep.equal(['user', ...roles, ...roles])
      const ids = messages.flatMap(({ tool_calls: calls = [] }) => calls.map(({ id }) => id))
      expect(ids).to.have.lengthOf(4)
      expect(messages.flatMap(({ tool_call_id: id }) => id ?? [])).to.deep.equal(ids)
      expect(messages[1]).to.deep.include({ content: 'Let me look.', reasoning_content: THOUGHT })
    })
  }
})
