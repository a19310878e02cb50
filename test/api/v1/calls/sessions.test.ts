import { expect } from 'chai'
import { sessionIdOf, sessionOf, withoutGatewayFields } from '../../../../src/api/v1/calls/sessions.ts'
import type { Dialect } from '../../../../src/shared/chat/dialect.ts'
import type { AccountId, UserId } from '../../../../src/shared/platform/ids.ts'

type Request = { headers?: Record<string, string>; body?: Record<string, unknown>; dialect?: Dialect }

const ALL: Request = {
  headers: {
    'x-session-id': '1',
    'x-session-affinity': '3',
    'session-id': '4',
    'x-claude-code-session-id': '5',
  },
  body: { session_id: '2', metadata: { user_id: '{"session_id":"6"}' }, prompt_cache_key: '7' },
  dialect: 'messages',
}

const idOf = ({ headers = {}, body = {}, dialect }: Request) => sessionIdOf({ headers, body, dialect })

const without = ({ headers, body, dialect }: Request, name: string): Request => ({
  headers: Object.fromEntries(Object.entries(headers!).filter(([one]) => one !== name)),
  body: Object.fromEntries(Object.entries(body!).filter(([one]) => one !== name)),
  dialect: dialect!,
})

describe('the session of a chat', () => {
  it('is named by the first of its spellings', () => {
    const names = [
      'x-session-id',
      'session_id',
      'x-session-affinity',
      'session-id',
      'x-claude-code-session-id',
      'metadata',
    ]
    let request = ALL
    for (const [at, name] of names.entries()) {
      expect(idOf(request), name).to.equal(String(at + 1))
      request = without(request, name)
    }
    expect(idOf(request)).to.equal('7')
    expect(idOf(without(request, 'prompt_cache_key'))).to.equal(null)
  })

  const user = (user_id: unknown): Request => ({
    body: { metadata: { user_id }, prompt_cache_key: 'k' },
    dialect: 'messages',
  })
  const CASES: [what: string, request: Request, id: string | null][] = [
    ['is the name of an end user that is no JSON', user('user_a_session_b'), 'user_a_session_b'],
    ['is the name of an end user whose JSON has no session', user('{"device_id":"d"}'), '{"device_id":"d"}'],
    ['is no name of an end user outside the Messages API', { ...user('u'), dialect: 'responses' }, 'k'],
    ['is no name that is not a text', user(7), 'k'],
    ['may have 256 characters', { headers: { 'x-session-id': 'x'.repeat(256) } }, 'x'.repeat(256)],
    [
      'is none where it has more, and the next is not asked',
      { headers: { 'session-id': 'x'.repeat(257) }, body: { prompt_cache_key: 'k' } },
      null,
    ],
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
    const body = {
      model: 'm',
      session_id: 's',
      provider: { order: ['a'], only: null, zdr: false, data_collection: 'allow' },
    }
    expect(withoutGatewayFields(body, model())).to.deep.equal({ model: 'm' })
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
