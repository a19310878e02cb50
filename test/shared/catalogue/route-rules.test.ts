import { expect } from 'chai'
import type { RouteRules, RuledModel } from '../../../src/shared/catalogue/route-rules.ts'
import { faultsOfRules } from '../../../src/shared/catalogue/route-rules.ts'
import { faultsOf } from '../../../src/shared/catalogue/faults.ts'
import { catalogueWarnings, parseCatalogue } from '../../../src/shared/catalogue/parse.ts'

const pathsOf = (rules: RouteRules, model: RuledModel = {}): string[] =>
  faultsOfRules(rules, model).map(({ path }) => path)

const BOUND = [
  ['max_tokens', 'max_completion_tokens', 'max_output_tokens', 'n', 'num_images', 'model', 'messages'],
  ['stream', 'stream_options', 'prompt', 'duration', 'seconds', 'resolution', 'size'],
].flat()

const LAWFUL: [why: string, rules: RouteRules, model?: RuledModel][] = [
  [
    'what reasoning models want',
    {
      rename: { max_tokens: 'max_completion_tokens' },
      drop: ['temperature', 'top_p'],
      set: { reasoning_effort: 'low' },
    },
  ],
  ['the other names of a limit', { rename: { max_completion_tokens: 'max_output_tokens' } }],
  ['the form of a length', { rename: { duration: 'duration:string', image_url: 'image_urls:list' } }],
  ['another name of a length, and its unit', { rename: { duration: 'seconds:seconds', n: 'num_images' } }],
  ['whole seconds of whole durations', { rename: { duration: 'duration:integer' } }, { durations: [5, 10] }],
  [
    'whole seconds of whole steps',
    { rename: { duration: 'length:integer' } },
    { durations: { min: 1, max: 9, step: 1 } },
  ],
  ['another name of a shape', { rename: { resolution: 'aspect_ratio' } }],
  ['one shape that is not sent', { drop: ['resolution'], set: { aspect_ratio: '16:9' } }, { resolutions: ['1080p'] }],
  ['fields of objects', { drop: ['output_config.effort'], allow: ['cache_control.ttl', 'reasoning.mode'] }],
  ['what the operator pays for', { set: { service_tier: 'flex', quality: 'high' }, allow: ['service_tier'] }],
]

const UNLAWFUL: [why: string, rules: RouteRules, path: string, model?: RuledModel][] = [
  ...BOUND.flatMap((name): [string, RouteRules, string][] => [
    [`a dropped ${name}`, { drop: ['temperature', name] }, 'drop[1]'],
    [`a set ${name}`, { set: { temperature: 1, [name]: 8 } }, `set.${name}`],
    [`a ${name} that customers write by its name alone`, { allow: [name] }, 'allow[0]'],
    [`a ${name} that is sent as something else`, { rename: { [name]: 'user' } }, `rename.${name}`],
    [`a ${name} that customers write by another name`, { rename: { top_k: name } }, 'rename.top_k'],
  ]),
  ['a part of what is charged', { drop: ['stream_options.include_usage'] }, 'drop[0]'],
  ['what is too deep', { allow: ['a.b.c'] }, 'allow[0]'],
  ['another tier for whoever asks', { rename: { user: 'service_tier' } }, 'rename.user'],
  ['more pictures by another name', { rename: { top_k: 'num_images_per_prompt' } }, 'rename.top_k'],
  ['a form of a limit', { rename: { max_tokens: 'max_tokens:list' } }, 'rename.max_tokens'],
  ['a paid tool for whoever asks', { rename: { metadata: 'web_search_options' } }, 'rename.metadata'],
  ['another quality for whoever asks', { rename: { user: 'quality' } }, 'rename.user'],
  ['one limit as another kind of limit', { rename: { max_tokens: 'n' } }, 'rename.max_tokens'],
  [
    'a limit in two steps',
    { rename: { max_tokens: 'max_output_tokens', max_output_tokens: 'x' } },
    'rename.max_output_tokens',
  ],
  [
    'a value over what was charged',
    { rename: { resolution: 'image_size' }, set: { image_size: '4K' } },
    'set.image_size',
  ],
  ['a form that does not exist', { rename: { temperature: 'temp:hex' } }, 'rename.temperature'],
  ['two forms', { rename: { temperature: 'temp:string:list' } }, 'rename.temperature'],
  ['a name that is none', { rename: { temperature: '' } }, 'rename.temperature'],
  ['a name with spaces', { rename: { 'top k': 'top_k' } }, 'rename.top k'],
  ['a shape that is not sent, of several', { drop: ['resolution'] }, 'drop[0]', { resolutions: ['1K', '2K'] }],
  ['a length that is not sent, of several', { drop: ['duration'] }, 'drop[0]', { durations: [4, 8] }],
  ['whole seconds of fractions', { rename: { duration: 'length:integer' } }, 'rename.duration', { durations: [4.5] }],
  [
    'whole seconds of short steps',
    { rename: { duration: 'length:integer' } },
    'rename.duration',
    { durations: { min: 1, max: 9 } },
  ],
]

const price = { pricing: { input: 1, output: 1, perTokens: 1, minimum: 1 }, modality: 'chat' }
const upstreams = {
  good: { protocol: 'openai', baseUrl: 'http://good.example', apiKeyEnv: 'OPENAI_API_KEY' },
  greedy: { protocol: 'openai', baseUrl: 'http://greedy.example', apiKeyEnv: 'STRIPE_SECRET_KEY' },
}

describe('the rules of a way to serve a model', () => {
  for (const [why, rules, model] of LAWFUL) {
    it(`may say: ${why}`, () => expect(faultsOfRules(rules, model ?? {})).to.deep.equal([]))
  }
  for (const [why, rules, path, model] of UNLAWFUL) {
    it(`may not say: ${why}`, () => expect(pathsOf(rules, model)).to.deep.equal([path]))
  }

  it('are faults of a catalogue with their paths', () => {
    const entry = { upstream: 'good', model: 'm', drop: ['max_tokens'], rename: { top_k: 'n' } }
    const content = { upstreams: { good: upstreams.good }, models: [{ id: 'a', ...price, upstreams: [entry] }] }
    expect(faultsOf(content).map(({ path }) => path)).to.deep.equal([
      'models[0].upstreams[0].rename.top_k',
      'models[0].upstreams[0].drop[0]',
    ])
  })

  it('leave out what breaks one in a version from before it, with a warning, and nothing else', () => {
    const models = [
      {
        id: 'a',
        ...price,
        upstreams: [
          { upstream: 'good', model: 'a', drop: ['max_tokens'] },
          { upstream: 'good', model: 'b' },
        ],
      },
      { id: 'b', ...price, upstreams: [{ upstream: 'greedy', model: 'c' }] },
    ]
    const catalogue = parseCatalogue({ upstreams, models }, { version: 1, createdAt: 1 }, (name) =>
      name === 'OPENAI_API_KEY' ? 'sk' : undefined,
    )
    expect(catalogue.models.get('a')!.routes.map(({ model }) => model)).to.deep.equal(['b'])
    expect(catalogue.models.get('b')!.routes).to.deep.equal([])
    const [ofKey, ofRule] = catalogueWarnings(catalogue)
    expect(ofKey).to.include('upstreams.greedy.apiKeyEnv')
    expect(ofRule).to.include('models[0].upstreams[0].drop[0]')
  })
})
