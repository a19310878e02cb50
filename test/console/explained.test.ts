import { expect } from 'chai'
import { PRICE_FIELDS, keyLines, withModel, withUpstream } from '../../src/console/pages/operator/catalogue-edits.ts'
import { placeOf, withoutPath } from '../../src/console/pages/operator/places.ts'
import { exampleOf, placeOf as anchorOf, typeText } from '../../src/console/pages/reference/document.ts'
import { safeNext } from '../../src/console/parts/next-page.ts'
import { callsOfBar } from '../../src/console/state/overview-range.ts'
import { endMs, fieldText, momentOf, startMs } from '../../src/console/state/zone.ts'
import { filledIn, guideHref } from '../../src/console/state/guides.ts'
import { faultsOf } from '../../src/shared/catalogue/faults.ts'
import { MODALITIES } from '../../src/shared/terms/kinds.ts'

describe('what the console explains', () => {
  it('names the model, upstream or group of a fault in a catalogue', () => {
    const catalogue = { models: [{ id: 'fast', upstreams: [{ upstream: 'openai' }] }, { name: 'no id' }] }
    for (const [path, of, field] of [
      ['models[0].pricing.minimum', 'Model fast', 'pricing.minimum'],
      ['models[0].upstreams[0].cost.output', 'Model fast, upstream openai', 'cost.output'],
      ['models[0].upstreams[7].cost', 'Model fast', 'upstreams[7].cost'],
      ['models[1].id', '', 'models[1].id'],
      ['upstreams.openai.baseUrl', 'Upstream openai', 'baseUrl'],
      ['groups.partner', 'Group partner', ''],
      ['packs', '', 'packs'],
    ] as const)
      expect(placeOf(path, catalogue), path).to.deep.equal({ of, field })
    expect(withoutPath('models[0].id is required', 'models[0].id')).to.equal('is required')
  })

  it('writes upstreams and models of every kind into a catalogue that is valid, and changes nothing else', () => {
    const texts = { name: ' own ', protocol: 'openai', baseUrl: 'https://own.example/v1', apiKeyEnv: 'OWN_KEY' }
    const first = withUpstream({ creditMicroUsd: 1000, groups: {}, packs: [], models: [] }, null, texts)
    const whole = MODALITIES.reduce((catalogue, modality) => {
      const price = Object.fromEntries(PRICE_FIELDS[modality].map(([name]) => [name, '3']))
      const fields = { id: `own-${modality}`, modality, enabled: 'on', 'upstream-0': 'own', 'model-0': 'x', ...price }
      return withModel(catalogue, null, fields)
    }, first)
    expect(faultsOf(whole)).to.deep.equal([])
    const { models, ...rest } = whole as { models: Record<string, unknown>[] }
    expect(rest).to.deep.include({ creditMicroUsd: 1000, groups: {}, packs: [] })

    const pooled = {
      ...(whole as object),
      upstreams: { own: { keys: [{ name: 'a', apiKeyEnv: 'A', models: ['m'] }], results: 'link' } },
    }
    const form = {
      ...texts,
      apiKeyEnv: '',
      keys: 'a  A\n\nspare SPARE_KEY 2',
      headers: 'X-Team: images',
      concurrency: 'many',
    }
    expect(withUpstream(pooled, 'own', form))
      .to.have.nested.property('upstreams.own')
      .that.deep.equals({
        keys: [
          { name: 'a', apiKeyEnv: 'A', models: ['m'], weight: undefined },
          { name: 'spare', apiKeyEnv: 'SPARE_KEY', weight: 2 },
        ],
        headers: { 'X-Team': 'images' },
        results: 'link',
        protocol: 'openai',
        baseUrl: texts.baseUrl,
        apiKeyEnv: undefined,
        concurrency: 'many',
      })
    expect(
      keyLines([
        { name: 'a', apiKeyEnv: 'A' },
        { name: 'b', apiKeyEnv: 'B', weight: 3 },
      ]),
    ).to.equal('a A\nb B 3')
    for (const [kind, before, texts, cost] of [
      ['chat', undefined, { input: '0.25', output: '2' }, { perTokens: 1e6, input: 250_000, output: 2_000_000 }],
      [
        'chat',
        { perTokens: 1000, input: 5, cachedInput: 1 },
        { input: '0.007' },
        { perTokens: 1000, input: 7, cachedInput: 1 },
      ],
      ['image', undefined, { perCall: '0.04' }, { perCall: 40_000 }],
      ['image', { rows: [{ perCall: 9 }] }, { perCall: '1' }, { rows: [{ perCall: 9 }] }],
      ['rerank', { perSearch: 2000 }, { perSearch: '0.002' }, { perSearch: 2000 }],
      ['speech', undefined, { perCharacter: '15' }, { perCharacters: 1e6, perCharacter: 15_000_000 }],
    ] as const) {
      const model = { modality: kind, upstreams: [{ upstream: 'own', model: 'x', ...(before && { cost: before }) }] }
      const costs = Object.fromEntries(Object.entries(texts).map(([name, text]) => [`cost-0-${name}`, text]))
      expect(withModel({ models: [model] }, 0, { 'upstream-0': 'own', 'model-0': 'x', ...costs }))
        .to.have.nested.property('models[0].upstreams[0].cost')
        .that.deep.equals(cost)
    }
    const edited = { name: 'Own', 'upstream-0': '', 'model-0': 'x', 'upstream-1': 'own', 'model-1': 'y' }
    expect(withModel(whole, 0, edited))
      .to.have.nested.property('models[0]')
      .that.deep.includes({
        ...models[0],
        name: 'Own',
        enabled: false,
        upstreams: [{ upstream: 'own', model: 'y', cost: undefined }],
      })
    const free = { id: 'f', modality: 'moderation', credits: '0', 'upstream-0': 'own', 'model-0': 'x', enabled: 'on' }
    expect(faultsOf(withModel(first, null, free))).to.deep.equal([])
  })

  it("fills the reader's address and models into guides, and links them to each other", () => {
    const models = [{ id: 'mine', modality: 'chat' as const }]
    const page = 'curl http://localhost:3000/v1 sandbox-chat sandbox-image https://gateway.example.com/x'
    expect(filledIn(page, 'https://own.example', models)).to.equal(
      'curl https://own.example/v1 mine sandbox-image https://own.example/x',
    )
    for (const [href, from, to] of [
      ['money.md#held', 'agents', '/help/money#held'],
      ['../money.md', 'api/chats', '/help/money'],
      ['api/messages.md', 'agents', '/help/api/messages'],
      ['#prices', 'money', '/help/money#prices'],
      ['../models.example.json', 'agents', null],
      ['https://example.com', 'agents', 'https://example.com'],
    ] as const)
      expect(guideHref(href, from), href).to.equal(to)
  })

  it('leads from a bar of a chart to its calls, and shows moments in local time to the minute', () => {
    expect(callsOfBar('day', '2026-11-16')).to.deep.equal({ from: '2026-11-16', to: '2026-11-16' })
    expect(callsOfBar('month', '2024-02')).to.deep.equal({ from: '2024-02-01', to: '2024-02-29' })
    expect(callsOfBar('hour', '2026-11-16T09:00:00.000Z').to).to.equal('2026-11-16T09:59:59.999Z')
    expect(endMs('2026-11-16') - startMs('2026-11-16')).to.equal(86_399_999)
    const text = fieldText(startMs('2026-11-16T09:30:00Z'))
    expect(momentOf(text, 'first')).to.equal('2026-11-16T09:30:00.000Z')
    expect(momentOf(text, 'last')).to.equal('2026-11-16T09:30:59.999Z')
    expect([momentOf('', 'first'), fieldText(startMs('nonsense'))]).to.deep.equal(['', ''])
  })

  it('leads to no other site after a sign-in', () => {
    const elsewhere = ['//evil.example/', 'https://evil.example/', '/\\evil.example', '/\t/evil.example', '/ x', '']
    for (const next of elsewhere) expect(safeNext(next), next).to.equal('/overview')
    for (const next of ['/keys', '/calls?status=failed']) expect(safeNext(next)).to.equal(next)
  })

  it('makes examples of schemas that contain themselves, and names their types', () => {
    const reference = {
      info: { version: '1' },
      tags: [],
      paths: {},
      components: {
        schemas: {
          Tree: {
            type: 'object',
            required: ['kids'],
            properties: { kids: { type: 'array', items: { $ref: '#/components/schemas/Tree' } } },
          },
        },
      },
    }
    const tree = { $ref: '#/components/schemas/Tree' }
    expect(JSON.stringify(exampleOf(reference, tree))).to.contain('{"kids":[{"kids":')
    expect(typeText(reference, { anyOf: [tree, { type: 'null' }] })).to.equal('Tree | null')
    expect(anchorOf('post', '/v1/videos/{id}')).to.equal('post-v1-videos-id')
  })
})
