import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { send } from '../../../scripts/harness/http.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { CHAT, chatBody, countsOf, prompted } from '../../../scripts/harness/calling.ts'
import { useGateway, useOneAccount } from '../../support/gateway.ts'

const LIMIT = 1_048_576

/** A chat of exactly this many bytes. */
function bodyOf(bytes: number): string {
  const empty = JSON.stringify(chatBody(''))
  return JSON.stringify(chatBody('x'.repeat(bytes - empty.length)))
}

const levels = (depth: number, open = '[', close = ']'): string => open.repeat(depth) + close.repeat(depth)

describe('a request body', () => {
  const gateway = useGateway()
  const account = useOneAccount(gateway, 1_000_000)
  /** One whose requests are refused. */
  const refused = useOneAccount(gateway, 1_000_000)

  const post = (body: string | Uint8Array, headers: Record<string, string> = {}, { key } = account): Promise<Reply> =>
    send('POST', `${gateway.url}${CHAT}`, { key, body, headers })

  async function expectRefused(
    body: string | Uint8Array,
    status: number,
    type: string,
    headers: Record<string, string> = {},
  ): Promise<void> {
    const reply = await post(body, headers, refused)
    expect([reply.status, reply.json?.error?.type], reply.text).to.deep.equal([status, type])
    expect(await countsOf(gateway.db, refused)).to.include({ charged: 0, entries: 1 })
  }

  it('of exactly 1 MB is accepted, and one byte more is not, with and without a Content-Length', async () => {
    expect((await post(bodyOf(LIMIT))).status).to.equal(200)
    await expectRefused(JSON.stringify(chatBody('é'.repeat(600_000))), 413, 'payload_too_large')
    const response = await fetch(`${gateway.url}${CHAT}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${refused.key}` },
      body: new Blob([bodyOf(LIMIT + 1)]).stream(),
      duplex: 'half',
    } as RequestInit)
    expect(response.status).to.equal(413)
    expect(await countsOf(gateway.db, refused)).to.include({ charged: 0 })
  })

  const NO_JSON: [what: string, body: string | Uint8Array][] = [
    ['empty', ''],
    ['cut half-way', JSON.stringify(chatBody('x')).slice(0, 40)],
    ['with a trailing comma', '{"model":"x",}'],
    ['with NaN', '{"model":"x","temperature":NaN}'],
    ['with a comment', '{"model":"x"} // x'],
    ['of two objects', '{}{}'],
    ['that is an array', '[{"model":"x"}]'],
    ['that is null', 'null'],
    ['with a raw control character', '{"model":"a\u0001"}'],
    ['in invalid UTF-8', Buffer.concat([Buffer.from('{"model":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}')])],
    ['in overlong UTF-8', Buffer.concat([Buffer.from('{"model":"'), Buffer.from([0xc0, 0xaf]), Buffer.from('"}')])],
    [
      'with a surrogate in UTF-8',
      Buffer.concat([Buffer.from('{"model":"'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"}')]),
    ],
    ['in UTF-16', Buffer.from('\ufeff{"model":"x"}', 'utf16le')],
    ['nested 100,000 levels deep in arrays', `{"messages":${levels(100_000)}}`],
    ['nested 100,000 levels deep in objects', `{"a":${levels(100_000, '{"a":', '}').replace(':}', ':1}')}}`],
    [
      'of a hundred thousand keys',
      JSON.stringify({
        metadata: Object.fromEntries(Array.from({ length: 100_000 }, (_one, nth) => [nth.toString(36), 0])),
      }),
    ],
    ['of a hundred thousand lists', `{"metadata":{"a":[${Array<string>(2000).fill(levels(50)).join(',')}]}}`],
    ['nested 65 levels deep', `{"messages":${levels(64)}}`],
  ]
  for (const [what, body] of NO_JSON) {
    it(`${what} is invalid_json`, () => expectRefused(body, 400, 'invalid_json'))
  }

  const READ: Record<string, () => string> = {
    'nested to a usual depth': () => JSON.stringify(chatBody('x', { metadata: JSON.parse(levels(60)) as unknown })),
    'with brackets in its strings': () => JSON.stringify(chatBody(`${'[{'.repeat(500)} \\" ${'['.repeat(500)}`)),
    'with commas in its strings': () => JSON.stringify(chatBody(',{['.repeat(100_000))),
  }
  for (const [what, body] of Object.entries(READ))
    it(`${what} is read`, async () => expect((await post(body())).status).to.equal(200))

  it('of a quote may be 1 KB longer than that of its call', async () => {
    const quote = async (bytes: number): Promise<number> => {
      const body = JSON.stringify({ token: 'x'.repeat(bytes - 12) })
      return (await send('POST', `${gateway.url}/v1/quotes`, { key: account.key, body })).status
    }
    expect([await quote(LIMIT + 1024), await quote(LIMIT + 1025)]).to.deep.equal([400, 413])
  })

  it('with a repeated key has its last value for the price, the record and the upstream', async () => {
    const prompt = prompted()
    const reply = await post(
      '{"model":"nothing","model":"sandbox-chat","max_tokens":1,"max_tokens":50,' +
        `"messages":[],"messages":[{"role":"user","content":"${prompt}"}]}`,
    )
    expect(reply.status, reply.text).to.equal(200)
    expect(gateway.sandbox.journal(prompt)[0]!.body).to.include({ max_tokens: 50 })
  })

  it('with prototype keys pollutes nothing', async () => {
    const message = JSON.stringify(chatBody('x')).slice(1)
    const KEYS = {
      '"__proto__":{"polluted":1}': 400,
      '"constructor":{"prototype":{"polluted":1}}': 400,
      '"toString":1': 400,
      '"hasOwnProperty":1': 400,
      '"metadata":{"a":{"__proto__":{"polluted":1}}}': 200,
    }
    for (const [keys, status] of Object.entries(KEYS)) {
      const reply = await post(`{${keys},${message}`)
      expect(reply.status, `${keys} ${reply.text}`).to.equal(status)
    }
    expect(({} as { polluted?: number }).polluted).to.equal(undefined)
  })

  const BODY = JSON.stringify(chatBody('x'))

  describe('and its Content-Type', () => {
    for (const type of [
      ...'text/plain application/x-www-form-urlencoded application/vnd.api+json application/jsonx ;'.split(' '),
      'application/json; charset=utf-16',
    ])
      it(`${type} is refused`, () => expectRefused(BODY, 415, 'unsupported_media_type', { 'content-type': type }))

    for (const type of ['Application/JSON', 'application/json;charset="UTF-8"', 'application/json; charset=utf8; v=1'])
      it(`${type} is accepted`, async () => expect((await post(BODY, { 'content-type': type })).status).to.equal(200))

    it('is required', async () => {
      const headers = { authorization: `Bearer ${account.key}` }
      const response = await fetch(`${gateway.url}${CHAT}`, { method: 'POST', headers, body: Buffer.from(BODY) })
      expect(response.status).to.equal(415)
    })
  })

  it('and its Content-Encoding is refused unread, but for identity', async () => {
    const whole = gzipSync(BODY)
    for (const [encoding, body] of [
      ['gzip', whole],
      ['gzip', gzipSync(Buffer.alloc(5_000_000, 0x20))],
      ['deflate', Buffer.from('{}')],
      ['gzip, br', whole],
      ['banana', Buffer.from('{}')],
    ] as const)
      await expectRefused(body, 415, 'unsupported_media_type', { 'content-encoding': encoding })
    expect((await post(BODY, { 'content-encoding': 'identity' })).status).to.equal(200)
  })
})
