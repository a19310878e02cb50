import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { anAccount } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import { send } from '../../../scripts/harness/http.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { CHAT, chatBody, countsOf, prompted } from '../../../scripts/harness/calling.ts'
import { useGateway } from '../../support/gateway.ts'

const LIMIT = 1_048_576

/** A chat of exactly this many bytes. */
function bodyOf(bytes: number): string {
  const empty = JSON.stringify(chatBody(''))
  return JSON.stringify(chatBody('x'.repeat(bytes - empty.length)))
}

const levels = (depth: number, open = '[', close = ']'): string => open.repeat(depth) + close.repeat(depth)

describe('a request body', () => {
  const gateway = useGateway()
  let account: TestAccount
  /** One whose requests are refused. */
  let refused: TestAccount
  before(async () => {
    account = await anAccount(gateway.db, 1_000_000)
    refused = await anAccount(gateway.db, 1_000_000)
  })

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

  describe('of exactly 1 MB', () => {
    it('is accepted, and one byte more is not, wherever it is', async () => {
      expect((await post(bodyOf(LIMIT))).status).to.equal(200)
      const over = await post(bodyOf(LIMIT + 1))
      expect([over.status, over.json.error.type]).to.deep.equal([413, 'payload_too_large'])
    })

    it('counts bytes, not characters', async () => {
      await expectRefused(JSON.stringify(chatBody('é'.repeat(600_000))), 413, 'payload_too_large')
    })
  })

  it('one byte too long is refused in chunks too, with no Content-Length to go by', async () => {
    const response = await fetch(`${gateway.url}${CHAT}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${refused.key}` },
      body: new Blob([bodyOf(LIMIT + 1)]).stream(),
      duplex: 'half',
    } as RequestInit)
    expect(response.status).to.equal(413)
    expect(((await response.json()) as { error: { type: string } }).error.type).to.equal('payload_too_large')
    expect(await countsOf(gateway.db, refused)).to.include({ charged: 0 })
  })

  const NO_JSON: [what: string, body: string | Uint8Array][] = [
    ['empty', ''],
    ['of white space', '  \n'],
    ['cut half-way', JSON.stringify(chatBody('x')).slice(0, 40)],
    ['cut within a string', '{"model":"sandb'],
    ['with single quotes', "{'model':'x'}"],
    ['with a trailing comma', '{"model":"x",}'],
    ['with NaN', '{"model":"x","temperature":NaN}'],
    ['with Infinity', '{"temperature":Infinity}'],
    ['with a comment', '{"model":"x"} // x'],
    ['of two objects', '{}{}'],
    ['that is an array', '[{"model":"x"}]'],
    ['that is null', 'null'],
    ['that is a text', '"model"'],
    ['that is a number', '7'],
    ['that is true', 'true'],
    ['with a raw control character', '{"model":"a\u0001"}'],
    ['in invalid UTF-8', Buffer.concat([Buffer.from('{"model":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}')])],
    ['in overlong UTF-8', Buffer.concat([Buffer.from('{"model":"'), Buffer.from([0xc0, 0xaf]), Buffer.from('"}')])],
    [
      'with a surrogate in UTF-8',
      Buffer.concat([Buffer.from('{"model":"'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"}')]),
    ],
    ['in UTF-16', Buffer.from('\ufeff{"model":"x"}', 'utf16le')],
    ['of NUL bytes', Buffer.alloc(100)],
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

  it('nested to a usual depth is read', async () => {
    const reply = await post(JSON.stringify(chatBody('x', { metadata: JSON.parse(levels(60)) as unknown })))
    expect(reply.status, reply.text).to.equal(200)
  })

  it('with brackets in its strings does not count as deep', async () => {
    expect((await post(JSON.stringify(chatBody(`${'[{'.repeat(500)} \\" ${'['.repeat(500)}`)))).status).to.equal(200)
  })

  it('of a quote may be 1 KB longer than that of its call', async () => {
    const quote = (bytes: number) =>
      send('POST', `${gateway.url}/v1/quotes`, {
        key: account.key,
        body: JSON.stringify({ token: 'x'.repeat(bytes - 12) }),
      })
    expect((await quote(1_048_576 + 1024)).status).to.equal(400)
    expect((await quote(1_048_576 + 1025)).status).to.equal(413)
  })

  it('with commas in its strings does not count as having many values', async () => {
    expect((await post(JSON.stringify(chatBody(',{['.repeat(100_000))))).status).to.equal(200)
  })

  it('can begin with a byte order mark', async () => {
    const reply = await post(`\ufeff${JSON.stringify(chatBody('x'))}`)
    expect(reply.status).to.be.oneOf([200, 400])
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

  describe('and its Content-Type', () => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/xml',
      'text/json',
      'application/json+x',
      'application/vnd.api+json',
      'application/jsonx',
      'json',
      ';',
      'application/json; charset=utf-16',
      'application/json; charset=latin1',
      'application/json;charset=foo',
    ]) {
      it(`${type} is refused`, () =>
        expectRefused(JSON.stringify(chatBody('x')), 415, 'unsupported_media_type', { 'content-type': type }))
    }

    for (const type of [
      'application/json',
      'Application/JSON',
      'application/json; charset=utf-8',
      'application/json;charset="UTF-8"',
      'application/json; charset=utf8',
      'application/json; version=1',
    ]) {
      it(`${type} is accepted`, async () =>
        expect((await post(JSON.stringify(chatBody('x')), { 'content-type': type })).status).to.equal(200))
    }

    it('is required', async () => {
      const response = await fetch(`${gateway.url}${CHAT}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${account.key}` },
        body: Buffer.from(JSON.stringify(chatBody('x'))),
      })
      expect(response.status).to.equal(415)
    })
  })

  describe('and its Content-Encoding', () => {
    const whole = gzipSync(JSON.stringify(chatBody('x')))
    for (const [what, encoding, body] of [
      ['gzip', 'gzip', whole],
      ['corrupt gzip', 'gzip', Buffer.from('not gzip at all')],
      ['cut gzip', 'gzip', whole.subarray(0, 20)],
      ['a bomb', 'gzip', gzipSync(Buffer.alloc(5_000_000, 0x20))],
      ['br that is none', 'br', Buffer.from('{}')],
      ['deflate', 'deflate', Buffer.from('{}')],
      ['several', 'gzip, br', whole],
      ['an unknown one', 'banana', Buffer.from('{}')],
    ] as const) {
      it(`${what} is refused unread`, () =>
        expectRefused(body, 415, 'unsupported_media_type', { 'content-encoding': encoding }))
    }

    it('identity is accepted', async () => {
      expect((await post(JSON.stringify(chatBody('x')), { 'content-encoding': 'identity' })).status).to.equal(200)
    })
  })
})
