import { expect } from 'chai'
import { sessionIdOf, sessionOf, withoutGatewayFields } from '../../../../src/api/v1/calls/sessions.ts'
import type { Dialect } from '../../../../src/shared/chat/dialect.ts'
import type { AccountId, UserId } from '../../../../src/shared/platform/ids.ts'

type Request = { headers?: Record<string, string>; body?: Record<string, unknown>; dialect?: Dialect }

/** The spellings of an id, in their order: of a header, or a field of the body. */
const SPELLINGS: [name: string, request: Request][] = [
  ['x-session-id', { headers: { 'x-session-id': '1' } }],
  ['session_id', { body: { session_id: '2' } }],
  ['x-session-affinity', { headers: { 'x-session-affinity': '3' } }],
  ['session-id', { headers: { 'session-id': '4' } }],
  ['x-claude-code-session-id', { headers: { 'x-claude-code-session-id': '5' } }],
  ['metadata', { body: { metadata: { user_id: '{"session_id":"6"}' } } }],
  ['prompt_cache_key', { body: { prompt_cache_key: '7' } }],
]

const idOf = ({ headers = {}, body = {}, dialect }: Request) => sessionIdOf({ headers, body, dialect })

describe('the session of a chat', () => {
  for (const [at, [name]] of SPELLINGS.entries())
    it(`is named by ${name} where none is in front of it`, () => {
      const all = SPELLINGS.slice(at).map(([, request]) => request)
      const headers = Object.assign({}, ...all.map((one) => one.headers))
      const body = Object.assign({}, ...all.map((one) => one.body))
      expect(idOf({ headers, body, dialect: 'messages' })).to.equal(String(at + 1))
    })

  it('is none without one', () => expect(idOf({})).to.equal(null))

  const user = (user_id: unknown): Request => ({
    body: { metadata: { user_id }, prompt_cache_key: 'k' },
    dialect: 'messages',
  })
  const LONG = { headers: { 'session-id': 'x'.repeat(257) }, body: { prompt_cache_key: 'k' } }
  const CASES: [what: string, request: Request, id: string | null][] = [
    ['is the name of an end user that is no JSON', user('user_a_session_b'), 'user_a_session_b'],
    ['is the name of an end user whose JSON has no session', user('{"device_id":"d"}'), '{"device_id":"d"}'],
    ['is no name of an end user outside the Messages API', { ...user('u'), dialect: 'responses' }, 'k'],
    ['is no name that is not a text', user(7), 'k'],
    ['may have 256 characters', { headers: { 'x-session-id': 'x'.repeat(256) } }, 'x'.repeat(256)],
    ['is none where it has more, and the next is not asked', LONG, null],
    ['is the next where one is empty', { headers: { 'x-session-id': '' }, body: { session_id: 'b' } }, 'b'],
  ]
  for (const [what, request, id] of CASES) it(what, () => expect(idOf(request)).to.equal(id))

  it('is that of its account, its member and its model alone, and does not show its id', () => {
    const holder = { accountId: 'a' as AccountId, userId: 'u' as UserId }
    const owner = { holder, model: 'm', secret: 's' }
    const request = {
      modality: 'chat' as const,
      headers: { 'x-session-id': 'my-session' },
      body: {},
      dialect: undefined,
    }
    const owners = [
      owner,
      { ...owner, holder: { ...holder, accountId: 'b' as AccountId } },
      { ...owner, holder: { ...holder, userId: 'v' as UserId } },
      { ...owner, model: 'n' },
      { ...owner, secret: 't' },
    ]
    const digests = owners.map((one) => sessionOf(request, one)!.digest)
    expect(new Set(digests)).to.have.lengthOf(owners.length)
    expect(digests.join()).to.not.include('my-session')
    expect(sessionOf(request, owner)).to.deep.equal({ digest: digests[0], seconds: 600 })
  })

  it('is remembered for an hour where a cache of an hour was asked for', () => {
    const owner = { holder: { accountId: 'a' as AccountId, userId: 'u' as UserId }, model: 'm', secret: 's' }
    const body = { system: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral', ttl: '1h' } }] }
    const request = { modality: 'chat' as const, headers: { 'x-session-id': 's' }, body, dialect: 'messages' as const }
    expect(sessionOf(request, owner)!.seconds).to.equal(3600)
  })
})

describe('fields that only the gateway reads', () => {
  const model = (allow: string[] = []) => ({ upstreams: [{ allow }] }) as never
  it('are sent to no upstream', () => {
    const provider = { order: ['a'], only: null, zdr: false, data_collection: 'allow' }
    expect(withoutGatewayFields({ model: 'm', session_id: 's', provider }, model())).to.deep.equal({ model: 'm' })
  })

  it('are sent where an upstream allows provider, but never session_id', () => {
    const body = { provider: { only: ['a'] }, session_id: 's' }
    expect(withoutGatewayFields(body, model(['provider', 'session_id']))).to.deep.equal({ provider: { only: ['a'] } })
  })

  const REFUSED: [body: Record<string, unknown>, field: string][] = [
    [{ session_id: 5 }, 'session_id'],
    [{ provider: 'x' }, 'provider'],
    [{ provider: { only: ['a'] } }, 'provider.only'],
    [{ provider: { zdr: true } }, 'provider.zdr'],
    [{ provider: { data_collection: 'deny' } }, 'provider.data_collection'],
  ]
  for (const [body, field] of REFUSED)
    it(`refuses ${JSON.stringify(body)}, and names ${field}`, () => {
      expect(() => withoutGatewayFields(body, model()))
        .to.throw()
        .that.includes({ code: 'invalid_request', param: field })
    })
})
