import { expect } from 'chai'
import { checkChat } from '../../../src/shared/chat/completions/check.ts'
import type { JsonObject } from '../../../src/api/middleware/json-body.ts'
import { cpuRatio } from '../../support/pace.ts'
import { PIXEL_URI } from '../../support/pixel.ts'
import { OK, verdict } from './support/parsing.ts'

const PARTS = { file: 100, input_audio: 100, video: 100, document: 100 }
const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }
const tool = { type: 'function', function: { name: 'f' } }

/** `ok`, or the code of a body's error and the field that it names. */
const verdictOn = (body: object, partTokens?: Record<string, number>, allow: string[] = []): string =>
  verdict(() => checkChat(body as JsonObject, { upstreams: [{ allow }], partTokens }))

const withField = (name: string, value: unknown): object => ({
  messages: [{ role: 'user', content: 'x' }],
  [name]: value,
})
const withPart = (...content: unknown[]): object => ({ messages: [{ role: 'user', content }] })
const picture = (url: string): object => ({ type: 'image_url', image_url: { url } })

describe('the accepted fields of a chat', () => {
  const FIELDS: Record<string, { good: unknown[]; bad: unknown[] }> = {
    top_p: { good: [0, 1], bad: [-0.1, 1.1, '1'] },
    top_k: { good: [0, 40], bad: [1.5, '4'] },
    min_p: { good: [0.05], bad: [2, '0'] },
    stop: { good: ['x', ['a', 'b']], bad: [5, [5], ['a', 'b', 'c', 'd', 'e']] },
    seed: { good: [7, -7], bad: [1.5, '7'] },
    presence_penalty: { good: [-2, 2], bad: [2.1, '1'] },
    frequency_penalty: { good: [-2, 2], bad: [-2.1, {}] },
    repetition_penalty: { good: [1.1], bad: [-1, 'x'] },
    logit_bias: { good: [{}, { 50: -100 }], bad: [{ 50: 101 }, { 50: 'x' }, [1], 'x'] },
    logprobs: { good: [true], bad: ['true', 1] },
    top_logprobs: { good: [0, 20], bad: [21, 1.5] },
    tools: {
      good: [
        [],
        [tool],
        [{ type: 'function', function: { name: 'f', description: 'd', parameters: { type: 'object' }, strict: true } }],
      ],
      bad: [{}, 'x'],
    },
    tool_choice: {
      good: [
        'auto',
        'none',
        'required',
        'any',
        { type: 'function', function: { name: 'f' } },
        { type: 'custom', custom: { name: 'f' } },
      ],
      bad: ['all', { type: 'web_search' }, 5],
    },
    parallel_tool_calls: { good: [false], bad: ['false'] },
    response_format: {
      good: [
        { type: 'text' },
        { type: 'json_object' },
        { type: 'json_schema', json_schema: { name: 'n', schema: {}, strict: true } },
      ],
      bad: [{ type: 'xml' }, { type: 'text', url: 'x' }, 'text'],
    },
    reasoning_effort: { good: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'], bad: ['enormous', 5] },
    verbosity: { good: ['low'], bad: ['x', 1] },
    user: { good: ['u'], bad: [5, {}] },
    metadata: { good: [{ a: 'b' }], bad: ['x', 5] },
    store: { good: [true], bad: ['x'] },
    stream_options: {
      good: [{ include_usage: true, include_obfuscation: false }],
      bad: [{ more: 1 }, { include_usage: 'x' }, 'x'],
    },
    prompt_cache_key: { good: ['k'], bad: [5] },
    safety_identifier: { good: ['k'], bad: [5] },
    prediction: {
      good: [
        { type: 'content', content: 'x' },
        { type: 'content', content: [{ type: 'text', text: 'x' }] },
      ],
      bad: ['x', { type: 'content', content: [picture(PIXEL_URI)] }],
    },
    functions: { good: [[{ name: 'f', parameters: {} }]], bad: [{}, 'x'] },
    function_call: { good: ['auto', 'none', { name: 'f' }], bad: ['any', {}] },
    modalities: { good: [['text']], bad: [['text', 'audio'], ['audio'], [], 'text'] },
    usage: { good: [{ include: true }, {}], bad: [true, { include: 'x' }, { more: 1 }] },
    service_tier: { good: ['auto', 'default'], bad: ['flex', 'priority', 5] },
    reasoning: {
      good: [{ effort: 'high' }, { enabled: true, exclude: false }, { effort: null, summary: 'auto' }],
      bad: [{ effort: 'enormous' }, { max_tokens: 100 }, 'high'],
    },
  }
  for (const [name, { good, bad }] of Object.entries(FIELDS)) {
    it(`include ${name}, of its own type and range`, () => {
      for (const value of [...good, null]) expect(verdictOn(withField(name, value)), JSON.stringify(value)).to.equal(OK)
      for (const value of bad)
        expect(verdictOn(withField(name, value)), JSON.stringify(value)).to.match(
          new RegExp(`^invalid_request ${name}`),
        )
    })
  }

  for (const name of [
    'models',
    'provider',
    'plugins',
    'enable_thinking',
    'thinking',
    'chat_template_kwargs',
    'n_predict',
    'api_base',
    'web_search_options',
    'prompt_cache_retention',
    'best_of',
    'audio',
    'prompt',
    'messages2',
    'toString',
    '__proto__',
    '',
  ]) {
    it(`do not include ${JSON.stringify(name)}, which is refused by its name, unless it is null`, () => {
      expect(
        verdictOn(JSON.parse(`{"messages":[{"role":"user","content":"x"}],${JSON.stringify(name)}:null}`) as object),
      ).to.equal(OK)
      for (const value of ['x', {}, [], false]) {
        const body = JSON.parse(
          `{"messages":[{"role":"user","content":"x"}],${JSON.stringify(name)}:${JSON.stringify(value)}}`,
        ) as object
        expect(verdictOn(body)).to.equal(`invalid_request ${name}`)
      }
    })
  }

  it('include those that an upstream of the model allows', () => {
    expect(verdictOn(withField('service_tier', 'flex'), undefined, ['service_tier'])).to.equal(OK)
    expect(verdictOn(withField('models', []), undefined, ['service_tier'])).to.equal('invalid_request models')
  })

  for (const name of ['enable_thinking', 'thinking', 'chat_template_kwargs', 'prompt_cache_retention', 'models']) {
    it(`do not include ${name}, and its refusal says why, and where the operator can allow it`, () => {
      expect(() => checkChat(withField(name, true) as JsonObject, { upstreams: [] })).to.throw(
        new RegExp(`^${name} can change the price of a call: .*operator.*"allow".*catalogue\\.$`),
      )
    })
  }

  it('are two tiers, and the refusal of another one says the same', () => {
    expect(() => checkChat(withField('service_tier', 'flex') as JsonObject, { upstreams: [] })).to.throw(
      /^service_tier other than "auto" and "default" can change the price of a call: .*"allow"/,
    )
    expect(() => checkChat(withField('truncate', true) as JsonObject, { upstreams: [] })).to.throw(
      'truncate is not a known field.',
    )
  })

  const WITHIN: [what: string, body: object, param: string][] = [
    [
      'a message',
      { messages: [{ role: 'user', content: 'x', image_urls: ['http://10.0.0.1/'] }] },
      'messages[0].image_urls',
    ],
    ['a text part', withPart({ type: 'text', text: 'x', aurl: 'http://10.0.0.1/' }), 'messages[0].content[0].aurl'],
    ['an image part', withPart({ ...picture(PIXEL_URI), fetch: 'http://10.0.0.1/' }), 'messages[0].content[0].fetch'],
    [
      'a result of a tool',
      { messages: [{ role: 'tool', tool_call_id: 'a', content: 'x', url: 'x' }] },
      'messages[0].url',
    ],
    ['a tool', withField('tools', [{ ...tool, web_search: {} }]), 'tools[0].web_search'],
    [
      'a function',
      withField('tools', [{ type: 'function', function: { name: 'f', server_url: 'x' } }]),
      'tools[0].function.server_url',
    ],
  ]
  for (const [what, body, param] of WITHIN) {
    it(`have nothing unknown within ${what}`, () => expect(verdictOn(body)).to.equal(`invalid_request ${param}`))
  }

  it('have faults of the messages reported before those of other fields', () => {
    expect(verdictOn({ ...withPart({ type: 'file' }), models: [] })).to.equal(
      'invalid_messages messages[0].content[0].type',
    )
    expect(verdictOn({ ...withPart({ type: 'text', text: 'x' }), temperature: 9, models: [] })).to.equal(
      'invalid_request models',
    )
  })

  it("accept only tools that their client runs: an upstream's own tools are billed by the call", () => {
    const custom = {
      type: 'custom',
      custom: { name: 'patch', format: { type: 'grammar', grammar: { syntax: 'lark' } } },
    }
    expect(verdictOn(withField('tools', [tool, custom]))).to.equal(OK)
    expect(verdictOn(withField('tools', [{ ...custom, custom: { name: 'patch', server_url: 'x' } }]))).to.equal(
      'invalid_request tools[0].custom.server_url',
    )
    for (const type of ['web_search', 'web_search_20250305', 'code_interpreter', undefined, 5]) {
      expect(verdictOn(withField('tools', [tool, { ...tool, type }])), String(type)).to.equal(
        'invalid_request tools[1].type',
      )
    }
  })

  it("accept a tool call's arguments only as a string, every byte of which counts", () => {
    const given = (args: unknown) => ({
      messages: [{ role: 'assistant', tool_calls: [{ ...call, function: { name: 'f', arguments: args } }] }],
    })
    expect(verdictOn(given('{"url":"data:,x"}'))).to.equal(OK)
    expect(verdictOn(given({ url: 'data:,x' }))).to.equal(
      'invalid_messages messages[0].tool_calls[0].function.arguments',
    )
  })

  it('accept a cached prefix only with the short lifetime: the long one is billed double', () => {
    const part = (cache_control: unknown) => withPart({ type: 'text', text: 'x', cache_control })
    expect(verdictOn(part({ type: 'ephemeral' }))).to.equal(OK)
    expect(verdictOn(part({ type: 'ephemeral', ttl: '5m' }))).to.equal(OK)
    expect(verdictOn(part({ type: 'ephemeral', ttl: '1h' }))).to.match(
      /^invalid_messages messages\[0\]\.content\[0\]\.cache_control/,
    )
  })

  it('accept parts of kinds that the model prices, and no others', () => {
    const kinds = {
      file: { file: { file_data: 'x' } },
      input_audio: { input_audio: { data: 'x', format: 'wav' } },
      video_url: { video_url: { url: 'https://example.com/v.mp4' } },
    }
    for (const [type, more] of Object.entries(kinds)) {
      expect(verdictOn(withPart({ type, ...more })), type).to.equal('invalid_messages messages[0].content[0].type')
      expect(verdictOn(withPart({ type, ...more }), PARTS), type).to.equal(OK)
    }
    for (const type of ['image', 'tool_result', 'refusal', 'toString'])
      expect(verdictOn(withPart({ type }), { image: 5 }), type).to.equal('invalid_messages messages[0].content[0].type')
  })

  it('have every address in other parts checked, however deeply nested', () => {
    const INSIDE = 'http://169.254.169.254/latest'
    const HIDING: [part: object, field: string][] = [
      [{ type: 'video_url', video_url: { url: INSIDE } }, 'video_url'],
      [{ type: 'video_url', video_url: INSIDE }, 'video_url'],
      [{ type: 'video', video: ['https://example.com/1.png', INSIDE] }, 'video[1]'],
      [{ type: 'file', file: { file_url: INSIDE } }, 'file.file_url'],
      [{ type: 'file', file: { file_data: INSIDE } }, 'file.file_data'],
      [{ type: 'file', file: { fileUri: 'gs://bucket/x' } }, 'file.fileUri'],
      [{ type: 'file', file: { url: '//10.0.0.1/x' } }, 'file.url'],
      [{ type: 'input_audio', input_audio: { data: ` ${INSIDE}` } }, 'input_audio.data'],
      [{ type: 'document', source: { type: 'url', url: INSIDE } }, 'source.url'],
      [
        { type: 'document', source: { content: [{ source: { url: 'file:///etc/passwd' } }] } },
        'source.content[0].source.url',
      ],
    ]
    for (const [part, field] of HIDING)
      expect(verdictOn(withPart(part), PARTS), JSON.stringify(part)).to.equal(
        `invalid_request messages[0].content[0].${field}`,
      )
    expect(
      verdictOn(
        withPart({ type: 'document', title: 'x', source: { type: 'text', text: 'http://10.0.0.1 is mine' } }),
        PARTS,
      ),
    ).to.equal(OK)
  })

  it('are at most 2,000 messages, 128 tools or functions, and 50 addresses', () => {
    const many = <T>(count: number, one: T): T[] => Array.from({ length: count }, () => one)
    const message = { role: 'user', content: 'x' }
    expect(verdictOn({ messages: many(2000, message) })).to.equal(OK)
    expect(verdictOn({ messages: many(2001, message) })).to.equal('invalid_messages messages')
    for (const [name, one] of [
      ['tools', tool],
      ['functions', { name: 'f' }],
    ] as const) {
      expect(verdictOn(withField(name, many(128, one)))).to.equal(OK)
      expect(verdictOn(withField(name, many(129, one)))).to.equal(`invalid_request ${name}`)
    }
    const shown = many(25, picture('https://example.com/a.png'))
    expect(
      verdictOn({
        messages: [
          { role: 'user', content: shown },
          { role: 'user', content: shown },
        ],
      }),
    ).to.equal(OK)
    expect(
      verdictOn({
        messages: [
          { role: 'user', content: shown },
          { role: 'user', content: [...shown, ...many(1, shown[0])] },
        ],
      }),
    ).to.equal('invalid_messages messages')
    expect(verdictOn(withPart(...many(60, picture(PIXEL_URI)))), 'images that are no addresses').to.equal(OK)
  })
})

const ADDRESSED = '{"type":"x","aurl":"http://h.example/"}'
const REASONING = '{"type":""}'

describe('a body of a million faults', () => {
  const fill = (one: string): string =>
    Array<string>(Math.floor(1_000_000 / (one.length + 1)))
      .fill(one)
      .join(',')
  const message = '"messages":[{"role":"user","content":"x"}]'
  const BODIES: Record<string, string> = {
    'tools that are {}': `{${message},"tools":[${fill('{}')}]}`,
    'functions that are {}': `{${message},"functions":[${fill('{}')}]}`,
    'messages that are {}': `{"messages":[${fill('{}')}]}`,
    'messages that are numbers': `{"messages":[${fill('1')}]}`,
    'parts that are {}': `{"messages":[{"role":"user","content":[${fill('{}')}]}]}`,
    'parts of a kind that is not priced': `{"messages":[{"role":"user","content":[${fill('{"type":"x"}')}]}]}`,
    'parts with an address': `{"messages":[{"role":"user","content":[${fill(ADDRESSED)}]}]}`,
    'parts that are good': `{"messages":[{"role":"user","content":[${fill('{"type":"text","text":"x"}')}]}]}`,
    'tool calls that are {}': `{"messages":[{"role":"assistant","tool_calls":[${fill('{}')}]}]}`,
    'pieces of reasoning': `{"messages":[{"role":"assistant","content":"","reasoning_details":[${fill(REASONING)}]}]}`,
    'stops that are {}': `{${message},"stop":[${fill('{}')}]}`,
    'modalities that are {}': `{${message},"modalities":[${fill('{}')}]}`,
    'a prediction of {}': `{${message},"prediction":{"type":"content","content":[${fill('{}')}]}}`,
  }
  for (const [what, text] of Object.entries(BODIES)) {
    it(`is refused in less CPU time than its JSON takes to parse: ${what}`, () => {
      const body = JSON.parse(text) as object
      const check = () => expect(verdictOn(body)).to.match(/^invalid_(messages|request) /)
      expect(cpuRatio(check, () => JSON.parse(text))).to.be.below(1)
    })
  }
})
