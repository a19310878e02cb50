import { expect } from 'chai'
import { until } from '../../../scripts/harness/until.ts'
import { silence } from '../../shared/media-files/fixtures.ts'
import { PIXEL_URI } from '../../support/pixel.ts'
import type { Requests } from '../support/visitor.ts'

function formOf(fields: Record<string, string>): FormData {
  const form = new FormData()
  for (const [name, text] of Object.entries({ model: 'sandbox-transcription', ...fields })) form.append(name, text)
  form.append('file', new Blob([new Uint8Array(silence(1))]), 'speech.wav')
  return form
}

/** API keys, calls of models, and the records that they leave. */
export const requests: Requests = {
  send: async ({ client, signUp }) => {
    const { me } = await signUp({ credits: 5000 })
    const { secret, key } = (await me('POST', '/api/keys', { name: 'test' })).json
    const caller = client(secret)
    await caller('GET', '/v1/models')
    await caller('GET', '/v1/models/sandbox-chat')
    const ofAnthropic = { 'anthropic-version': '2023-06-01' }
    await caller('GET', '/v1/models?limit=1', undefined, ofAnthropic)
    await caller('GET', '/v1/models?limit=0', undefined, ofAnthropic)
    await caller('GET', '/v1/models/sandbox-chat', undefined, ofAnthropic)
    await caller('GET', '/v1/models/none', undefined, ofAnthropic)
    await client()('GET', '/v1/models', undefined, ofAnthropic)
    await caller('GET', '/v1/key')
    await caller('POST', '/v1/quotes', {
      endpoint: '/v1/images/generations',
      body: { model: 'sandbox-image', prompt: 'x' },
    })
    const fields = { model: 'sandbox-image', prompt: 'a lighthouse', resolution: '1K' }
    const image = await caller('POST', '/v1/images/generations', fields)
    expect(image.status, image.text).to.equal(200)
    const pictures = { ...fields, n: 2, response_format: 'b64_json' }
    await caller('POST', '/v1/images/generations', pictures)
    await caller('POST', '/v1/images/edits', { ...pictures, image_url: PIXEL_URI })
    await caller('POST', '/v1/videos/generations', { model: 'sandbox-video', prompt: 'a lighthouse', duration: 1 })
    const video = await caller('POST', '/v1/videos', { model: 'sandbox-video', prompt: 'a lighthouse', seconds: '1' })
    const at = `/v1/videos/${video.json.id}`
    await until('the video is there', async () => (await caller('GET', at)).json.status === 'completed')
    await caller('GET', '/v1/videos?limit=1')
    await caller('GET', `${at}/content`)
    await caller('GET', `${at}/content?variant=thumbnail`)
    await caller('DELETE', at)
    await caller('POST', '/v1/embeddings', { model: 'sandbox-embedding', input: ['a lighthouse', 'a fox'] })
    await caller('POST', '/v1/moderations', { input: ['a lighthouse', 'a fox'] })
    const ranked = { model: 'sandbox-rerank', query: 'a fox', documents: ['a lighthouse', 'a fox'], top_n: 1 }
    await caller('POST', '/v1/rerank', { ...ranked, return_documents: true })
    await caller('POST', '/v1/audio/speech', { model: 'sandbox-speech', voice: 'alloy', input: 'a lighthouse' })
    await caller('POST', '/v1/audio/transcriptions', formOf({ response_format: 'verbose_json' }))
    await caller('POST', '/v1/audio/transcriptions', formOf({ response_format: 'vtt' }))
    await caller('POST', '/v1/audio/translations', formOf({}))
    const chat = { model: 'sandbox-chat', messages: [{ role: 'user', content: 'hello' }] }
    await caller('POST', '/v1/chat/completions', chat)
    await caller('POST', '/v1/chat/completions', { ...chat, stream: true })
    const message = { ...chat, max_tokens: 100 }
    await caller('POST', '/v1/messages', message)
    await caller('POST', '/v1/messages', { ...message, stream: true })
    await caller('POST', '/v1/messages/count_tokens', chat)
    const response = { model: 'sandbox-chat', input: 'hello' }
    const answered = await caller('POST', '/v1/responses', response)
    await caller('GET', `/v1/responses/${answered.json.id}`)
    await caller('GET', `/v1/responses/${answered.json.id}/input_items`)
    await caller('POST', `/v1/responses/${answered.json.id}/cancel`)
    await caller('DELETE', `/v1/responses/${answered.json.id}`)
    await caller('POST', '/v1/responses', { ...response, stream: true })
    await caller('POST', '/v1/responses/input_tokens', response)
    const ofGoogle = { 'x-goog-api-key': secret }
    const content = { parts: [{ text: 'hello' }] }
    for (const prefix of ['/v1beta', '/v1']) {
      await caller('GET', `${prefix}/models`, undefined, ofGoogle)
      await caller('GET', `${prefix}/models/sandbox-chat`, undefined, ofGoogle)
      const ask = (verb: string, body: object, model = 'sandbox-chat') =>
        caller('POST', `${prefix}/models/${model}:${verb}`, body, ofGoogle)
      await ask('generateContent', { contents: [content] })
      await ask('streamGenerateContent', { contents: [content] })
      await ask('streamGenerateContent?alt=sse', { contents: [content] })
      await ask('countTokens', { contents: [content] })
      await ask('embedContent', { content }, 'sandbox-embedding')
      await ask('batchEmbedContents', { requests: [{ content }] }, 'sandbox-embedding')
    }
    const id = image.headers.get('x-call-id')!
    await caller('GET', `/v1/calls/${id}?wait=1`)
    await client()('GET', new URL(image.json.data[0].url).pathname)
    await me('GET', '/api/account')
    await me('GET', '/api/models')
    await me('GET', '/api/models/latency')
    await me('GET', '/api/calls?limit=2')
    await me('GET', `/api/calls/${id}`)
    await me('GET', '/api/ledger')
    await me('GET', '/api/exports/calls')
    await me('GET', '/api/exports/ledger')
    await me('GET', '/api/grants')
    await me('GET', '/api/usage')
    await me('GET', '/api/usage/hours')
    await me('GET', '/api/usage/keys')
    await me('GET', '/api/usage/latency')
    await me('GET', '/api/keys')
    await me('PATCH', `/api/keys/${key.id}`, {
      models: ['sandbox-chat', 'not-yet'],
      modalities: ['chat'],
      allowedIps: ['127.0.0.1', '2001:db8::/32'],
      expiresAt: '2999-01-01T00:00:00Z',
      rateLimit: 5,
      maxOutstanding: 5,
      tokensPerMinute: 5000,
      budget: { credits: 0, period: 'week' },
    })
    await caller('POST', '/v1/chat/completions', chat)
    await me('POST', `/api/keys/${key.id}/rotate`, { graceSeconds: 60 })
    await me('DELETE', `/api/keys/${key.id}`)
  },
}
