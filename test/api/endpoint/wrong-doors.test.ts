import { expect } from 'chai'
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { json as bodyOf } from 'node:stream/consumers'
import { get, send } from '../../../scripts/harness/http.ts'
import { useOneAccount, useWeb } from '../../support/gateway.ts'

describe('a client at the wrong door', () => {
  const gateway = useWeb()
  const account = useOneAccount(gateway, 100)

  /** The sentence of a 404 in OpenAI's form. */
  async function told(path: string): Promise<string> {
    const { status, json } = await send('POST', `${gateway.url}${path}`, { key: account.key, body: { model: 'x' } })
    expect([status, json.ok, json.error.code], path).to.deep.equal([404, false, 'not_found'])
    return json.error.message as string
  }

  const NEARLY: Record<string, string> = {
    '/chat/completions': '/v1/chat/completions',
    '/v1/v1/chat/completions': '/v1/chat/completions',
    '//v1/chat/completions': '/v1/chat/completions',
    '/v1/chat/completions/': '/v1/chat/completions',
    '/api/v1/chat/completions': '/v1/chat/completions',
    '/V1/chat/completions': '/v1/chat/completions',
    '/v1/chat/completions/chat/completions': '/v1/chat/completions',
    '/images/generations': '/v1/images/generations',
    '/v1/v1/models': '/v1/models',
    '/models/maker/chat': '/v1/models/maker/chat',
    '/v1/v1/messages': '/v1/messages',
    '/v2/rerank': '/v1/rerank',
  }
  it('is told what its base URL should be', async () => {
    for (const [path, meant] of Object.entries(NEARLY)) {
      const sentence = await told(path)
      expect(sentence, path)
        .to.include('base URL')
        .and.match(new RegExp(`send this to ${meant}\\.$`))
    }
  })

  const OTHERS: Record<string, RegExp> = {
    '/v1/complete': /not Anthropic's older API/,
    '/v1/models/gemini-3-flash:predictLongRunning': /generateContent/,
    '/v1/projects/p/locations/l/publishers/google/models/g:predict': /generateContent/,
    '/openai/deployments/gpt/chat/completions': /not Azure's paths/,
    '/model/claude/converse-stream': /not Bedrock's API/,
    '/v1/realtime': /no such API/,
    '/v1/threads/t/runs': /no such API/,
    '/v1/files': /no such API/,
    '/v1/completions': /send messages instead/,
    '/v2/chat': /OpenAI-compatible provider/,
  }
  it('is told what this gateway speaks', async () => {
    for (const [path, words] of Object.entries(OTHERS)) {
      const sentence = await told(path)
      expect(sentence, path).to.match(words).and.include('chat completions (POST /v1/chat/completions)')
    }
    expect(await told('/v1/responses/compact')).to.include('compacts no conversations')
  })

  it('gets 426 at once where it asks for a WebSocket, without a look at its key', async () => {
    for (const path of ['/v1/responses', '/v1/realtime?model=gpt']) {
      const request = httpRequest(`${gateway.url}${path}`, { headers: { connection: 'Upgrade', upgrade: 'websocket' } })
      const [response] = (await once(request.end(), 'response')) as [IncomingMessage]
      const { error } = (await bodyOf(response)) as { error: { code: string; message: string } }
      expect([response.statusCode, error.code], path).to.deep.equal([426, 'upgrade_required'])
      expect(error.message).to.include('over HTTP')
    }
  })

  it("is told so at Ollama's paths, which are answered as the console's", async () => {
    for (const path of ['/api/chat', '/api/generate', '/api/tags', '/api/show']) {
      const { status, json } = await send('POST', `${gateway.url}${path}`, { body: {} })
      expect([status, json.error], path).to.deep.equal([404, 'not_found'])
      expect(json.message).to.match(/not Ollama's API: configure it as an OpenAI-compatible provider/)
    }
  })

  it('is told nothing of what it asked for where that is like nothing known', async () => {
    for (const path of ['/v1/nonsense', '/nonsense', '/v1/chat', `/v1/${'x'.repeat(5000)}`]) {
      const { status, text } = await get(`${gateway.url}${path}`, account.key, { accept: 'application/json' })
      expect(status, path).to.equal(404)
      expect(text.length).to.be.below(500)
    }
  })

  it('gets JSON at a page of the console that it took for a list of models, and browsers get the page', async () => {
    for (const path of ['/models', '/models/sandbox-chat', '/calls/call_1']) {
      const { status, json } = await get(`${gateway.url}${path}`, account.key, { accept: 'application/json' })
      expect([status, json?.error.code], path).to.deep.equal([404, 'not_found'])
      const page = await get(`${gateway.url}${path}`, account.key, {
        accept: 'text/html,application/xhtml+xml,*/*;q=0.8',
      })
      expect(page.status, path).to.be.oneOf([200, 503])
    }
    const { json } = await get(`${gateway.url}/models`, account.key, { accept: 'application/json' })
    expect(json.error.message).to.match(/send this to \/v1\/models\.$/)
  })

  it('is told which method a path takes', async () => {
    const { status, json, headers } = await get(`${gateway.url}/v1/chat/completions`, account.key)
    expect([status, headers.get('allow')]).to.deep.equal([405, 'POST'])
    expect(json.error.message).to.equal('This path takes POST, not GET.')
    // Below a path that another API has, too.
    for (const path of ['speech', 'transcriptions', 'translations'].map((name) => `/v1/audio/${name}`)) {
      const reply = await get(`${gateway.url}${path}`, account.key)
      expect([reply.status, reply.headers.get('allow')], path).to.deep.equal([405, 'POST'])
    }
    expect((await get(`${gateway.url}/v1/audio/voices`, account.key)).json.error.message).to.match(/no such API/)
  })
})
