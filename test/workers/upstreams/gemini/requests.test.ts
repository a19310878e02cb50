import { expect } from 'chai'
import type { Fields } from '../../../../src/shared/platform/fields.ts'
import { listOf } from '../../../../src/shared/platform/fields.ts'
import { checkKey } from '../../../../src/shared/operators/key-check.ts'
import type { MediaRequest } from '../../../../src/shared/requests/requests.ts'
import type { DirectMediaAdapter } from '../../../../src/workers/upstreams/adapter.ts'
import { PIXEL, PIXEL_URI } from '../../../support/pixel.ts'
import { chatOf, contextOf, failureOf, promptOf, routeTo, uploading, useWorld } from '../sandbox-upstreams.ts'
import { ask } from '../translated.ts'

const user = (content: unknown) => ({ role: 'user', content })
const text = (words: string) => ({ parts: [{ text: words }] })

// What is sent of a chat: sent-bodies.test.ts.
describe('a request of the Gemini API', () => {
  it('has names of tools that begin with a letter, which come back as they were', async () => {
    for (const name of ['look', '3d', '-', '_1', '__init', '_x']) {
      const { body, answer } = ask('messages', { messages: [user('x')], tools: [{ name, input_schema: {} }] }, 'gemini')
      const [sent] = listOf(listOf(body.tools)[0]!.functionDeclarations)
      expect(sent!.name, name).to.match(/^[a-zA-Z_][\w-]*$/)
      const parts = [{ functionCall: { name: sent!.name, args: {} } }]
      const { content } = await answer({ candidates: [{ content: { parts }, finishReason: 'STOP' }] })
      expect(listOf(content)[0], name).to.include({ type: 'tool_use', name })
    }
  })

  it('delivers one call alone where no more were asked for', async () => {
    const tools = [{ type: 'function', function: { name: 'look', parameters: {} } }]
    const asked = { messages: [user('x')], tools, parallel_tool_calls: false }
    const parts = ['a', 'b'].map((id) => ({ functionCall: { id, name: 'look', args: {} } }))
    const answer = { candidates: [{ content: { parts }, finishReason: 'STOP' }] }
    const [choice] = listOf((await ask('chat', asked, 'gemini').answer(answer)).choices)
    expect(choice).to.have.nested.property('message.tool_calls.length', 1)
    expect(choice).to.include({ finish_reason: 'tool_calls' })
  })

  describe('to an upstream', () => {
    const world = useWorld()
    const adapter = () => world.upstreams.adapterOf('gemini')

    it('has the key in a header and nowhere else, at a base address with a version or without', async () => {
      for (const base of ['/gemini', '/gemini/v1beta']) {
        const prompt = promptOf('key')
        const route = routeTo('gemini', `${world.sandbox.url}${base}`, { model: 'gemini-3.8-flash' })
        await adapter().chat!.streamChat(chatOf(prompt), contextOf(route), () => {})
        const [line] = world.sandbox.journal(prompt)
        expect(line!.path).to.equal('/gemini/v1beta/models/gemini-3.8-flash:streamGenerateContent')
        expect(line!.headers).to.include({ 'x-goog-api-key': 'made-up' }).and.not.to.have.property('authorization')
        expect(JSON.stringify(line!.body)).to.not.match(/"model"|"stream"|made-up/)
        expect(await checkKey(route.upstream, 2000)).to.include({ ok: true, status: 200 })
        const bad = { ...route.upstream, apiKey: 'a-bad-one' }
        expect(await checkKey(bad, 2000)).to.include({ ok: false, status: 400, says: 'refuses the key (400)' })
      }
    })

    it('is refused as the real one refuses it: a call without its signature, and one of another account', async () => {
      const turn = (signature?: string) => ({
        contents: [
          { role: 'user', ...text(promptOf('signed')) },
          {
            role: 'model',
            parts: [{ functionCall: { id: 'c', name: 'look', args: {} }, thoughtSignature: signature }],
          },
          { role: 'user', parts: [{ functionResponse: { id: 'c', name: 'look', response: {} } }] },
        ],
      })
      const path = `${world.sandbox.url}/gemini/v1beta/models/gemini-3.8-flash:generateContent`
      const status = async (signature?: string) => {
        const headers = { 'content-type': 'application/json', 'x-goog-api-key': 'made-up' }
        return (await fetch(path, { method: 'POST', headers, body: JSON.stringify(turn(signature)) })).status
      }
      expect([await status(), await status('QUJD'), await status('skip_thought_signature_validator')]).to.deep.equal([
        400, 400, 200,
      ])
    })

    it('asks for a picture, from those of an edit too', async () => {
      const image = adapter().image as DirectMediaAdapter
      const sent = async (more: Partial<MediaRequest>) => {
        const prompt = promptOf('picture')
        const request: MediaRequest = { prompt, ...more }
        const context = uploading(world.context('gemini'), image, request.image_url)
        const files = [{ name: 'a', type: 'image/png', bytes: 1, open: () => pieces() }]
        await image.generate(request, { ...context, files })
        const { contents, generationConfig } = world.sandbox.journal(prompt)[0]!.body as Fields
        const [{ parts }] = contents as [Fields]
        return { pictures: listOf(parts).slice(0, -1), generationConfig }
      }
      async function* pieces(): AsyncGenerator<Uint8Array> {
        yield Buffer.from(PIXEL, 'base64')
      }
      const config = (imageConfig?: Fields) => ({ responseModalities: ['IMAGE'], ...(imageConfig && { imageConfig }) })
      const picture = { inlineData: { mimeType: 'image/png', data: PIXEL } }
      expect(await sent({})).to.deep.equal({ pictures: [], generationConfig: config() })
      const tall = { pictures: [picture], generationConfig: config({ aspectRatio: '2:3' }) }
      expect(await sent({ size: '1024x1536', image_url: PIXEL_URI })).to.deep.equal(tall)
      const edited = { pictures: [picture], generationConfig: config({ imageSize: '2K' }) }
      expect(await sent({ resolution: '2k', images: [{ place: 0, extension: 'png' }] })).to.deep.equal(edited)
      const refused = image.generate({ prompt: promptOf('[refusal]') }, world.context('gemini'))
      expect(await failureOf(refused)).to.include({ kind: 'rejected', fault: 'content_policy' })
    })

    it('embeds a hundred texts at once, and counts what is asked in its own dialect', async () => {
      const texts = Array.from({ length: 101 }, (_, at) => `text ${at}`)
      const embed = adapter().embedding!
      const asked = { input: texts, encoding_format: 'float', dimensions: 4 } as const
      const { vectors, usage } = await embed(asked, world.context('gemini', { model: 'gemini-embedding-2' }))
      expect(vectors.map(({ length }) => length)).to.deep.equal(texts.map(() => 4))
      expect(usage).to.include({ input: 202, output: 0 })
      expect(new Set(vectors.map(String)).size).to.equal(101)
      const tokens = embed({ ...asked, input: [1, 2] }, world.context('gemini'))
      expect(await failureOf(tokens)).to.include({ kind: 'rejected' })
      const request = { messages: [], max_tokens: 9, contents: [{ role: 'user', ...text('four') }] }
      expect(await adapter().chat!.count!(request, { ...world.context('gemini'), dialect: 'gemini' })).to.equal(5)
    })
  })
})
