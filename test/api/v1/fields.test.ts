import { expect } from 'chai'
import { expectBooksToBalance } from '../../support/books.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import type { Gateway } from '../../../scripts/harness/harness.ts'
import { startGateway } from '../../../scripts/harness/harness.ts'
import { outstandingOf } from '../../shared/calls/opening.ts'
import { post } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { CHAT, IMAGES, VIDEOS, prompted } from '../../../scripts/harness/calling.ts'
import { PIXEL_URI } from '../../support/pixel.ts'

const OK = 'ok'

const RESOLUTIONS = ['1K', '720p', '1024x1024', '16:9', 'a-b', 'x'.repeat(32)]

describe('the fields of a call', () => {
  let gateway: Gateway
  let account: TestAccount
  before(async () => {
    gateway = await startGateway({}, ({ models }) => {
      const upstreams = [{ upstream: 'sandbox', model: 'image-sandbox' }]
      models.push({ id: 'odd-image', modality: 'image', credits: 1, resolutions: RESOLUTIONS, upstreams })
      models.push({ id: 'long-video', modality: 'video', credits: 1, durations: { min: 0.1, max: 600 }, upstreams })
    })
    account = await anAccount(gateway.db, 1_000_000_000)
  })
  after(async () => {
    await until('the end of every call', async () => (await outstandingOf(gateway.db, account.id)) === 0)
    await expectBooksToBalance(gateway.db)
    await gateway.stop()
  })

  /** `ok`, or the error's type and the field it names. Accepted calls are not waited for. */
  async function verdict(path: string, body: string | object): Promise<string> {
    const reply = await post(`${gateway.url}${path}`, account.key, body, { prefer: 'respond-async' })
    return reply.status === 202 ? OK : `${reply.json.error.type} ${reply.json.error.param}`
  }
  const image = (fields: object): Promise<string> =>
    verdict(IMAGES, { model: 'sandbox-image', prompt: 'a tree', ...fields })
  const video = (fields: object): Promise<string> =>
    verdict(VIDEOS, { model: 'sandbox-video', prompt: 'a tree', ...fields })
  const chat = (fields: object): Promise<string> =>
    verdict(CHAT, { model: 'sandbox-chat', messages: [{ role: 'user', content: 'hi' }], ...fields })
  const said = (message: unknown): Promise<string> => verdict(CHAT, { model: 'sandbox-chat', messages: [message] })

  describe('prompt', () => {
    const tooLong = 'invalid_prompt prompt'
    const CASES: [what: string, prompt: unknown, expected: string][] = [
      ['of 2,000 letters', 'x'.repeat(2000), OK],
      ['of 2,001 letters', 'x'.repeat(2001), tooLong],
      ['of 2,000 emoji, which are 4,000 UTF-16 units', '😀'.repeat(2000), OK],
      ['of 2,001 emoji', '😀'.repeat(2001), tooLong],
      ['of 1,999 letters and an emoji', `${'x'.repeat(1999)}😀`, OK],
      ['of 2,000 letters and an emoji', `${'x'.repeat(2000)}😀`, tooLong],
      ['of 1,000 letters with combining marks, counted as sent', 'e\u0301'.repeat(1000), OK],
      ['of 1,001 letters with combining marks', 'e\u0301'.repeat(1001), tooLong],
      ['that is empty', '', tooLong],
      ['of white space alone', ' \t\n\u00a0\u2003', tooLong],
      ['with controls, bidi overrides and zero-width characters', 'a\u0001\u202e\u200b\u2028b', OK],
      ['with NUL, which is never stored', 'a\u0000b', OK],
      ['that is null', null, tooLong],
      ['that is a number', 5, tooLong],
      ['that is a list', ['a tree'], tooLong],
      ['that is an object', { text: 'a tree' }, tooLong],
      ['that is a boolean', true, tooLong],
    ]
    for (const [what, prompt, expected] of CASES) {
      it(`${what}: ${expected}`, async () => {
        expect(await image({ prompt })).to.equal(expected)
        if (expected !== OK) expect(await video({ prompt })).to.equal(expected)
      })
    }

    it('reaches the upstream as it was sent, to the last character', async () => {
      const prompt = `${prompted()}  ünïcode 😀 e\u0301 \u202e\u200b\n "quoted" \\ </script>  `
      expect((await post(`${gateway.url}${IMAGES}`, account.key, { model: 'sandbox-image', prompt })).status).to.equal(
        200,
      )
      expect(gateway.sandbox.billed(prompt).total).to.equal(1)
    })

    it('with a lone surrogate is handled without a 500', async () => {
      const reply = await post(`${gateway.url}${IMAGES}`, account.key, '{"model":"sandbox-image","prompt":"a\\ud800b"}')
      expect(reply.status).to.be.oneOf([200, 400])
    })
  })

  it('resolution is at most 32 letters, digits, x, : and -', async () => {
    for (const resolution of [...RESOLUTIONS, undefined, null])
      expect(await image({ model: 'odd-image', resolution }), JSON.stringify(resolution)).to.equal(OK)
    for (const resolution of ['', 'x'.repeat(33), '1024*1024', '1 K', 'ü', '720p\n', 720, true, ['1K'], {}]) {
      expect(await image({ model: 'odd-image', resolution }), JSON.stringify(resolution)).to.equal(
        'invalid_request resolution',
      )
      expect(await video({ resolution }), JSON.stringify(resolution)).to.equal('invalid_request resolution')
    }
  })

  it('duration is more than 0 and at most 600', async () => {
    for (const duration of [0.1, 1, 5.5, 600, undefined, null])
      expect(await video({ model: 'long-video', duration }), JSON.stringify(duration)).to.equal(OK)
    for (const duration of [0, -0, -1, 600.1, 1e308, '5', '', true, [5], {}])
      expect(await video({ model: 'long-video', duration }), JSON.stringify(duration)).to.equal(
        'invalid_request duration',
      )
    expect(await verdict(VIDEOS, '{"model":"sandbox-video","prompt":"x","duration":1e309}')).to.equal(
      'invalid_request duration',
    )
  })

  it('image_url is a public http(s) address or a data: image', async () => {
    for (const image_url of [PIXEL_URI, 'https://example.com/a.png', null, undefined])
      expect(await image({ image_url }), image_url?.slice(0, 30)).to.equal(OK)
    for (const image_url of [
      '',
      'x',
      'ftp://example.com/a',
      'http://127.0.0.1/',
      'http://127.1',
      'http://[::1]/',
      'http://localhost/a',
      'http://169.254.169.254/latest',
      'http://0x7f.1/',
      'http://2130706433/',
      'https://user:pass@example.com/',
      'file:///etc/passwd',
      'data:text/html;base64,PGI+',
      'javascript:alert(1)',
      7,
      ['https://example.com'],
      {},
    ]) {
      expect(await image({ image_url }), JSON.stringify(image_url)).to.equal('invalid_request image_url')
      expect(await video({ image_url }), JSON.stringify(image_url)).to.equal('invalid_request image_url')
    }
  })

  it('of images and videos that are unknown are ignored', async () => {
    expect(await image({ steps: 50, cfg: 'huge', user: null, constructor: { prototype: { x: 1 } } })).to.equal(OK)
    expect(
      await verdict(IMAGES, '{"model":"sandbox-image","prompt":"x","__proto__":{"polluted":true},"toString":1}'),
    ).to.equal(OK)
    expect(({} as { polluted?: boolean }).polluted).to.equal(undefined)
  })

  it('max_tokens, and its other name, is an integer of at least 1', async () => {
    for (const name of ['max_tokens', 'max_completion_tokens']) {
      for (const value of [1, 4096, null, undefined])
        expect(await chat({ [name]: value }), `${name} ${value}`).to.equal(OK)
      for (const value of [0, -1, 1.5, '5', true, [5], {}, 2 ** 53])
        expect(await chat({ [name]: value }), `${name} ${JSON.stringify(value)}`).to.equal(`invalid_request ${name}`)
      for (const value of ['1e309', '-0', '9007199254740993', '9223372036854775808', '1e21']) {
        expect(
          await verdict(CHAT, `{"model":"sandbox-chat","messages":[{"role":"user","content":"x"}],"${name}":${value}}`),
          `${name} ${value}`,
        ).to.equal(`invalid_request ${name}`)
      }
    }
  })

  it('n is an integer from 1 to 8', async () => {
    for (const n of [1, 8, null]) expect(await chat({ n }), JSON.stringify(n)).to.equal(OK)
    for (const n of [0, 9, -1, 1.5, '2', true])
      expect(await chat({ n }), JSON.stringify(n)).to.equal('invalid_request n')
  })

  it('temperature is from 0 to 2', async () => {
    for (const temperature of [0, 0.5, 2, null])
      expect(await chat({ temperature }), JSON.stringify(temperature)).to.equal(OK)
    for (const temperature of [-0.1, 2.01, '1', true, [1]])
      expect(await chat({ temperature }), JSON.stringify(temperature)).to.equal('invalid_request temperature')
    expect(
      await verdict(CHAT, '{"model":"sandbox-chat","messages":[{"role":"user","content":"x"}],"temperature":1e309}'),
    ).to.equal('invalid_request temperature')
  })

  it('stream is true or false', async () => {
    for (const stream of ['true', 1, {}])
      expect(await chat({ stream }), JSON.stringify(stream)).to.equal('invalid_request stream')
  })

  describe('messages', () => {
    const GOOD: [what: string, message: object][] = [
      ...['system', 'developer', 'user', 'assistant', 'tool'].map((role): [string, object] => [
        `of the role ${role}`,
        { role, content: 'x' },
      ]),
      ['with an empty text', { role: 'user', content: '' }],
      [
        'with parts',
        {
          role: 'user',
          content: [
            { type: 'text', text: 'look' },
            { type: 'image_url', image_url: { url: PIXEL_URI } },
          ],
        },
      ],
      [
        'of an assistant, as it answered',
        {
          role: 'assistant',
          content: 'x',
          refusal: null,
          annotations: [{ url: 'http://10.0.0.1/' }],
          audio: null,
          tool_calls: [],
          reasoning_content: 'hm',
        },
      ],
      [
        "of an assistant's tool calls without content",
        { role: 'assistant', tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }] },
      ],
      [
        "of an assistant's tool calls with null",
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
        },
      ],
      ['with fields of their own', { role: 'user', content: 'x', name: 'bob', cache_control: { type: 'ephemeral' } }],
    ]
    for (const [what, message] of GOOD) it(`${what} are accepted`, async () => expect(await said(message)).to.equal(OK))

    const BAD: [what: string, messages: unknown, param: string][] = [
      ['null', null, 'messages'],
      ['a text', 'hi', 'messages'],
      ['an object', { role: 'user', content: 'x' }, 'messages'],
      ['empty', [], 'messages'],
      ['of texts', ['hi'], 'messages[0]'],
      ['of null', [null], 'messages[0]'],
      ['without a role', [{ content: 'x' }], 'messages[0].role'],
      ['of an unknown role', [{ role: 'system2', content: 'x' }], 'messages[0].role'],
      ['without content', [{ role: 'user' }], 'messages[0].content'],
      ['with null for content', [{ role: 'user', content: null }], 'messages[0].content'],
      ['with a number for content', [{ role: 'user', content: 5 }], 'messages[0].content'],
      ['with an object for content', [{ role: 'user', content: {} }], 'messages[0].content'],
      ['of which the second is bad', [{ role: 'user', content: 'x' }, { role: 'user' }], 'messages[1].content'],
    ]
    for (const [what, messages, param] of BAD) {
      it(`that are ${what} are invalid_messages`, async () =>
        expect(await chat({ messages })).to.equal(`invalid_messages ${param}`))
    }

    it('with a broken part are invalid_messages', async () => {
      for (const content of [['x'], [null], [{}], [{ type: 5 }], [{ type: 'text' }], [{ type: 'text', text: 5 }]]) {
        expect(await said({ role: 'user', content }), JSON.stringify(content)).to.match(
          /^invalid_messages messages\[0\]\.content/,
        )
      }
    })

    it('with an image part without an address are invalid_messages', async () => {
      for (const image_url of [{}, undefined, null, 5, { url: 5 }]) {
        expect(
          await said({ role: 'user', content: [{ type: 'image_url', image_url }] }),
          JSON.stringify(image_url),
        ).to.equal('invalid_messages messages[0].content[0].image_url')
      }
    })

    it('with an image at a private address are refused like any image_url', async () => {
      for (const image_url of [{ url: 'http://127.0.0.1/a.png' }, 'http://10.0.0.1/', { url: '' }]) {
        expect(
          await said({ role: 'user', content: [{ type: 'image_url', image_url }] }),
          JSON.stringify(image_url),
        ).to.equal('invalid_request messages[0].content[0].image_url')
      }
    })
  })

  it('of a chat reach the upstream unchanged, except for those of the gateway', async () => {
    const prompt = prompted()
    const more = {
      response_format: { type: 'json_object' },
      seed: 7,
      logit_bias: { 50: 1 },
      metadata: { a: ['b', null] },
      temperature: 0.5,
      stop: ['x'],
    }
    const reply: Reply = await post(`${gateway.url}${CHAT}`, account.key, {
      model: 'sandbox-chat',
      messages: [{ role: 'user', content: prompt }],
      max_completion_tokens: 77,
      ...more,
    })
    expect(reply.status, reply.text).to.equal(200)
    const [sent] = gateway.sandbox.journal(prompt)
    expect(sent!.body).to.deep.equal({
      model: 'gpt-sandbox',
      messages: [{ role: 'user', content: prompt }],
      max_tokens: 77,
      stream: false,
      ...more,
    })
  })

  it('of a chat cannot be set through __proto__', async () => {
    const message = '"model":"sandbox-chat","messages":[{"role":"user","content":"x"}]'
    for (const smuggled of ['{"max_tokens":-5}', '{"n":1000}', '{"temperature":9}', '{"models":[]}']) {
      expect(await verdict(CHAT, `{${message},"__proto__":${smuggled}}`), smuggled).to.equal(
        'invalid_request __proto__',
      )
    }
  })
})
