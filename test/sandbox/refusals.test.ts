import { expect } from 'chai'
import { prompted } from '../../scripts/harness/calling.ts'
import { get, send } from '../../scripts/harness/http.ts'
import type { Reply } from '../../scripts/harness/http.ts'
import { useSandbox } from './support/client.ts'
import type { Fields } from './support/client.ts'

// That each vendor's answers are read is proven by the tests of the adapters (test/workers/upstreams): only a request
// that the vendor would refuse does not show there if the sandbox accepts it.
describe('the sandbox refuses what the vendors refuse', () => {
  const own = useSandbox()
  const ask = (path: string, headers: Record<string, string>, body: unknown): Promise<Reply> =>
    send('POST', `${own.url}${path}`, { body, headers })

  const MESSAGES = [{ role: 'user', content: 'hi' }]
  const CHAT = ['/v1/chat/completions', { model: 'gpt-sandbox', messages: MESSAGES }] as const
  const ANTHROPIC = ['/anthropic/v1/messages', { model: 'claude-sandbox', max_tokens: 9, messages: MESSAGES }] as const
  const KEY = { authorization: 'Bearer made-up' }
  const VERSION = { 'anthropic-version': '2023-06-01' }
  const VERSIONED = { ...VERSION, 'x-api-key': 'made-up' }

  for (const [what, path, json, wrong, right] of [
    ['OpenAI', ...CHAT, {}, KEY],
    ['OpenAI, of a bad key', ...CHAT, { authorization: 'Bearer sk-bad-one' }, { authorization: 'bearer whatever' }],
    ['Anthropic', ...ANTHROPIC, { ...VERSION, ...KEY }, VERSIONED],
    ['fal', '/fal/fal-ai/flux', { prompt: 'x' }, KEY, { authorization: 'Key made-up' }],
    ['Replicate', '/replicate/v1/models/acme/picture/predictions', { input: { prompt: 'x' } }, {}, KEY],
    ['OpenRouter', '/openrouter/api/v1/videos', { model: 'acme/video', prompt: 'x' }, {}, KEY],
  ] as [string, string, object, Record<string, string>, Record<string, string>][]) {
    it(`a request without a key of its scheme: ${what}`, async () => {
      expect((await ask(path, wrong, json)).status).to.equal(401)
      expect((await ask(path, right, json)).status).to.be.within(200, 202)
    })
  }

  it('a key without credit, and one that has reached its limit', async () => {
    for (const [path, json, key] of [
      [...CHAT, { authorization: 'Bearer sk-empty' }],
      [...ANTHROPIC, { ...VERSION, 'x-api-key': 'sk-empty' }],
    ] as [string, object, Record<string, string>][])
      expect((await ask(path, key, json)).status).to.equal(path === CHAT[0] ? 429 : 402)
    // A window may end in between.
    const limited: Reply[] = []
    for (let times = 0; times < 3; times += 1)
      limited.push(await ask(CHAT[0], { authorization: 'Bearer sk-limited-1' }, CHAT[1]))
    expect(limited[0]!.status).to.equal(200)
    const refused = limited.find(({ status }) => status === 429)!
    expect(Number(refused.headers.get('retry-after'))).to.be.within(1, 10)
  })

  it('no cached input to a key that did not write it', async () => {
    const system = [{ type: 'text', text: prompted(), cache_control: { type: 'ephemeral' } }]
    const read = async (key: string): Promise<number> =>
      (await ask(ANTHROPIC[0], { ...VERSION, 'x-api-key': key }, { ...ANTHROPIC[1], system })).json.usage
        .cache_read_input_tokens as number
    expect([await read('a'), (await read('a')) > 0, await read('b')]).to.deep.equal([0, true, 0])
  })

  it('a file or a poll without the key, and the content of a video before its end', async () => {
    const video = (await ask('/v1/videos', KEY, { model: 'video-sandbox', prompt: prompted('[stuck]') })).json
    const path = `${own.url}/v1/videos/${video['id']}`
    for (const at of [path, `${path}/content`]) expect((await get(at)).status).to.equal(401)
    expect((await get(`${path}/content`, 'made-up')).json.error.code).to.equal('video_not_ready')
  })

  it('fields that are wrong, in the words of each', async () => {
    const chat = (more: Fields) => ask(CHAT[0], KEY, { ...CHAT[1], ...more })
    expect((await chat({ messages: [] })).json.error).to.include({
      type: 'invalid_request_error',
      param: 'messages',
    })
    const reasoning = await chat({ model: 'gpt-reasoning', max_tokens: 5 })
    expect(reasoning.json.error).to.include({ code: 'unsupported_parameter', param: 'max_tokens' })
    expect((await chat({ model: 'gpt-reasoning', max_completion_tokens: 5 })).status).to.equal(200)
    const message = (more: Fields, headers: Record<string, string> = VERSIONED) =>
      ask(ANTHROPIC[0], headers, { ...ANTHROPIC[1], ...more })
    expect((await message({}, { 'x-api-key': 'made-up' })).status, 'no version').to.equal(400)
    for (const more of [{ max_tokens: undefined }, { temperature: 1.5 }, { model: 'claude-reasoning', temperature: 1 }])
      expect((await message(more)).status, JSON.stringify(more)).to.equal(400)
    const picture = { type: 'image', source: { type: 'base64', media_type: 'image/gif', data: 'aGVsbG8=' } }
    expect((await message({ messages: [{ role: 'user', content: [picture] }] })).status).to.equal(400)
    const prediction = await ask('/replicate/v1/models/acme/picture/predictions', KEY, { input: {} })
    expect(prediction.status).to.equal(422)
    expect(prediction.json.invalid_fields[0].field).to.equal('input.prompt')
  })

  it('forms without a picture, or with a file that is none', async () => {
    const edit = async (form: FormData) =>
      (await send('POST', `${own.url}/v1/images/edits`, { body: form, key: 'made-up' })).json.error
    const form = new FormData()
    form.set('model', 'image-sandbox')
    form.set('prompt', 'x')
    expect((await edit(form)).param).to.equal('image')
    form.set('image', new Blob(['<svg/>'], { type: 'image/png' }), 'x.png')
    expect((await edit(form)).code).to.equal('invalid_image_format')
    form.set('input_reference', new Blob(['hello'], { type: 'image/png' }), 'x.png')
    const video = await send('POST', `${own.url}/v1/videos`, { body: form, key: 'made-up' })
    expect(video.json.error.param).to.equal('input_reference')
  })
})
