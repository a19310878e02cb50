import { expect } from 'chai'
import { PRICE_FIELDS, withModel, withUpstream } from '../../src/console/pages/operator/catalogue-edits.ts'
import { placeOf, withoutPath } from '../../src/console/pages/operator/places.ts'
import { exampleOf, placeOf as anchorOf, typeText } from '../../src/console/pages/reference/document.ts'
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
      upstreams: { own: { keys: [{ name: 'a', apiKeyEnv: 'A' }], results: 'link' } },
    }
    expect(withUpstream(pooled, 'own', { ...texts, concurrency: 'many' }))
      .to.have.nested.property('upstreams.own')
      .that.deep.equals({ ...pooled.upstreams.own, protocol: 'openai', baseUrl: texts.baseUrl, concurrency: 'many' })
    const edited = { name: 'Own', 'upstream-0': '', 'model-0': 'x', 'upstream-1': 'own', 'model-1': 'y' }
    expect(withModel(whole, 0, edited))
      .to.have.nested.property('models[0]')
      .that.deep.includes({
        ...models[0],
        name: 'Own',
        enabled: false,
        upstreams: [{ upstream: 'own', model: 'y' }],
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
