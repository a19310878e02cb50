import { expect } from 'chai'
import OpenAI from 'openai'
import { eventsOf, prompted, send, useSandbox } from './support/client.ts'
import type { Answer, Fields } from './support/client.ts'

const TOOLS = [
  {
    type: 'function',
    function: {
      name: 'weather',
      parameters: { type: 'object', properties: { city: { type: 'string' }, days: { type: 'integer' } } },
    },
  },
] as const

describe('the sandbox as OpenAI chat', () => {
  const own = useSandbox()

  function chat(words: string, more: Fields = {}): Promise<Answer> {
    return send(`${own.url}/v1/chat/completions`, {
      json: { model: 'gpt-sandbox', messages: [{ role: 'user', content: words }], ...more },
      headers: { authorization: 'Bearer made-up' },
    })
  }

  function sdk(): OpenAI {
    return new OpenAI({ apiKey: 'made-up', baseURL: `${own.url}/v1`, maxRetries: 0 })
  }

  it('answers a chat with usage, and the same words to the same prompt', async () => {
    const [first, second] = [(await chat('hello')).json(), (await chat('hello')).json()]
    expect(first).to.include({ object: 'chat.completion', model: 'gpt-sandbox' })
    expect(first['choices'][0].message.content)
      .to.match(/sandbox/)
      .and.equal(second['choices'][0].message.content)
    expect(first['choices'][0].finish_reason).to.equal('stop')
    const { prompt_tokens: input, completion_tokens: output, total_tokens: total } = first['usage']
    expect(total).to.equal(input + output)
    expect(first['usage'].completion_tokens_details).to.have.property('reasoning_tokens')
    expect(first['id']).not.to.equal(second['id'])
  })

  it('streams the same answer in chunks that an OpenAI SDK puts together', async () => {
    const whole = (await chat('hello')).json()
    const stream = sdk().chat.completions.stream({
      model: 'gpt-sandbox',
      messages: [{ role: 'user', content: 'hello' }],
      stream_options: { include_usage: true },
    })
    const { choices, usage } = await stream.finalChatCompletion()
    expect(choices[0]?.message.content).to.equal(whole['choices'][0].message.content)
    expect(usage).to.deep.equal(whole['usage'])
  })

  it('sends the role first, then deltas, the finish, the usage without choices and [DONE]', async () => {
    const answer = await chat('[tokens 3]', { stream: true, stream_options: { include_usage: true } })
    expect(answer.headers['content-type']).to.match(/^text\/event-stream/)
    const events = eventsOf(answer.text)
    expect(events[0]!['choices'][0].delta.role).to.equal('assistant')
    expect(
      events
        .slice(1, 4)
        .map((event) => event['choices'][0].delta.content)
        .join(''),
    ).to.equal('the sandbox keeps')
    expect(events[4]!['choices'][0].finish_reason).to.equal('stop')
    expect(events.slice(0, 5).map((event) => event['usage'])).to.deep.equal([null, null, null, null, null])
    expect(events[5]).to.deep.include({ choices: [] })
    expect(events[5]!['usage'].completion_tokens).to.equal(3)
    expect(events[6]).to.equal('[DONE]')
  })

  it('leaves usage out of a stream that did not ask for it, and obfuscation where it is declined', async () => {
    const events = eventsOf((await chat('hi', { stream: true, stream_options: { include_obfuscation: false } })).text)
    expect(events.some((event) => typeof event === 'object' && 'usage' in event)).to.equal(false)
    expect(events.some((event) => typeof event === 'object' && 'obfuscation' in event)).to.equal(false)
    expect(eventsOf((await chat('hi', { stream: true })).text)[0]).to.have.property('obfuscation')
  })

  it('stops at max_tokens and says length', async () => {
    for (const name of ['max_tokens', 'max_completion_tokens']) {
      const answer = (await chat('[tokens 50]', { [name]: 10 })).json()
      expect(answer['choices'][0].finish_reason).to.equal('length')
      expect(answer['choices'][0].message.content.split(' ')).to.have.length(10)
      expect(answer['usage'].completion_tokens).to.equal(10)
    }
  })

  it('answers n choices and counts the output of all', async () => {
    const answer = (await chat('[tokens 5]', { n: 3 })).json()
    expect(answer['choices'].map((choice: Fields) => choice['index'])).to.deep.equal([0, 1, 2])
    expect(answer['usage'].completion_tokens).to.equal(15)
    const events = eventsOf((await chat('[tokens 5]', { n: 2, stream: true })).text)
    const second = events.map((event) => event['choices']?.[0]).filter((choice) => choice?.index === 1)
    expect(
      second
        .map((choice) => choice.delta.content ?? '')
        .join('')
        .split(' '),
    ).to.have.length(5)
  })

  it('calls a tool of the request when asked to, with arguments that fit its schema', async () => {
    const answer = (await chat('[tool]', { tools: TOOLS })).json()
    expect(answer['choices'][0]).to.deep.include({ finish_reason: 'tool_calls' })
    expect(answer['choices'][0].message.content).to.equal(null)
    const call = answer['choices'][0].message.tool_calls[0]
    expect(call.function.name).to.equal('weather')
    expect(JSON.parse(call.function.arguments)).to.deep.equal({ city: 'sandbox', days: 1 })
    expect((await chat('[tool]')).json()['choices'][0].finish_reason).to.equal('stop')
  })

  it('streams a tool call in pieces that an OpenAI SDK puts together', async () => {
    const stream = sdk().chat.completions.stream({
      model: 'gpt-sandbox',
      messages: [{ role: 'user', content: '[tool weather]' }],
      tools: [...TOOLS],
    })
    const { choices } = await stream.finalChatCompletion()
    const call = choices[0]?.message.tool_calls?.[0]
    expect(call?.type === 'function' && call.function).to.deep.include({
      name: 'weather',
      arguments: '{"city":"sandbox","days":1}',
    })
  })

  it('answers JSON that fits the schema of response_format', async () => {
    const list = { type: 'array', items: { type: 'number' } }
    const schema = { type: 'object', properties: { kind: { enum: ['a', 'b'] }, list } }
    const format = { type: 'json_schema', json_schema: { name: 'thing', schema } }
    const answer = (await chat('hi', { response_format: format })).json()
    expect(JSON.parse(answer['choices'][0].message.content)).to.deep.equal({ kind: 'a', list: [1.5] })
  })

  it('answers with a given text, echoes, and declines', async () => {
    const say = async (words: string): Promise<Fields> => (await chat(words)).json()['choices'][0].message
    expect(await say('[answer Hello, wörld 😀]')).to.include({ content: 'Hello, wörld 😀' })
    expect(await say('repeat me [echo]')).to.include({ content: 'repeat me' })
    expect(await say('[refusal]'))
      .to.include({ content: null })
      .and.have.property('refusal')
  })

  it('is steered by the last user message, also in parts', async () => {
    const messages = [
      { role: 'user', content: '[status 500]' },
      { role: 'assistant', content: '[status 500]' },
      { role: 'user', content: [{ type: 'text', text: '[answer seen]' }, { type: 'image_url' }] },
    ]
    expect((await chat('', { messages })).json()['choices'][0].message.content).to.equal('seen')
  })

  it('refuses what OpenAI refuses, in its envelope', async () => {
    const noMessages = await chat('', { messages: [] })
    expect(noMessages.status).to.equal(400)
    expect(noMessages.json()['error']).to.include({ type: 'invalid_request_error', param: 'messages' })
    const reasoning = await chat('hi', { model: 'gpt-reasoning', max_tokens: 5 })
    expect(reasoning.json()['error']).to.include({ code: 'unsupported_parameter', param: 'max_tokens' })
    expect((await chat('hi', { model: 'gpt-reasoning', max_completion_tokens: 5 })).status).to.equal(200)
    expect((await send(`${own.url}/v1/chat/completions`, { body: '[1' })).json()['error'].code).to.equal('invalid_json')
    expect((await send(`${own.url}/v1/nothing`, { json: {} })).status).to.equal(404)
  })

  it('accepts any key but a missing or a bad one', async () => {
    const json = { model: 'gpt-sandbox', messages: [{ role: 'user', content: 'hi' }] }
    const url = `${own.url}/v1/chat/completions`
    expect((await send(url, { json })).json()['error'].code).to.equal('invalid_api_key')
    expect((await send(url, { json, headers: { authorization: 'Bearer sk-bad-one' } })).status).to.equal(401)
    expect((await send(url, { json, headers: { authorization: 'bearer whatever' } })).status).to.equal(200)
  })

  it('reports the usage that it is told to report', async () => {
    const usage = async (words: string): Promise<Fields | undefined> => (await chat(words)).json()['usage']
    const counts = { prompt_tokens: 1000, completion_tokens: 2000, total_tokens: 3000 }
    expect(await usage('[usage 1000 2000]')).to.include(counts)
    expect((await usage('[usage-negative]'))?.['completion_tokens']).to.be.below(0)
    expect((await usage('[usage-huge]'))?.['prompt_tokens']).to.equal(Number.MAX_SAFE_INTEGER)
    expect(await usage('[no-usage]')).to.equal(undefined)
    const streamed = await chat('[no-usage]', { stream: true, stream_options: { include_usage: true } })
    expect(eventsOf(streamed.text).filter((event) => event['usage'])).to.deep.equal([])
  })

  it('answers without choices when asked to, and bills nothing', async () => {
    const prompt = prompted('[empty]')
    expect((await chat(prompt)).json()['choices']).to.deep.equal([])
    expect(own.sandbox.billed(prompt).total).to.equal(0)
  })
})
