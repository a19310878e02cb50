import { expect } from 'chai'
import { PROTOCOLS } from '../../../src/shared/catalogue/catalogue.ts'
import { marginFaults } from '../../../src/shared/catalogue/margins.ts'
import type { PricedCatalogue } from '../../../src/shared/catalogue/margins.ts'
import { catalogueWarnings, readCatalogueFile } from '../../../src/shared/catalogue/parse.ts'
import { readCatalogue } from '../../support/catalogue.ts'
import { applyRules } from '../../../src/workers/upstreams/body-rules.ts'
import { createUpstreams } from '../../../src/workers/upstreams/registry.ts'

for (const file of ['models.example.json', 'models.json']) {
  describe(file, () => {
    const catalogue = readCatalogue(file, () => 'made-up')
    const upstreams = createUpstreams({ accountShare: 1 })
    after(() => upstreams.close())

    it('has for each model only upstreams whose protocol serves its modality', () => {
      for (const { id, modality, routes } of catalogue.models.values()) {
        for (const { upstream } of routes)
          expect(upstreams.adapterOf(upstream.protocol)[modality] !== undefined, `${id} at ${upstream.name}`).to.equal(
            true,
          )
      }
    })

    it('states for each model what can be requested at its price', () => {
      for (const model of catalogue.models.values()) {
        if (model.modality === 'embedding') expect(model.maxDimensions, model.id).to.be.a('number')
        else if (model.modality === 'rerank') expect(model.documentTokens, model.id).to.be.a('number')
        else if (model.modality === 'moderation') expect(model.price.credits, model.id).to.be.a('number')
        else if (model.modality === 'image' || model.modality === 'video')
          expect(model.sizes ?? model.resolutions, model.id).to.be.an('array')
        else if (model.modality === 'chat') {
          expect(model, model.id).to.have.property('partTokens').that.has.property('image')
          expect(model.maxOutputTokens, model.id).to.be.a('number')
        }
      }
      expect(catalogueWarnings(catalogue)).to.deep.equal([])
    })

    it('sells nothing below its cost', () => {
      const content = readCatalogueFile(file) as PricedCatalogue
      expect(content.creditMicroUsd).to.equal(1000)
      expect(marginFaults(content)).to.deep.equal([])
    })

    it('has rules that can be applied', () => {
      const body = {
        prompt: 'p',
        image_url: 'https://example.com/a.png',
        duration: 5,
        resolution: '720p',
        max_tokens: 5,
        temperature: 1,
      }
      for (const { routes } of catalogue.models.values()) for (const route of routes) applyRules(body, route)
    })
  })
}

describe('models.example.json', () => {
  it('shows every protocol, and contains no key', () => {
    const { upstreams } = readCatalogue('models.example.json', () => 'made-up')
    expect(new Set(upstreams.map(({ protocol }) => protocol))).to.deep.equal(new Set(PROTOCOLS))
    for (const { apiKey } of upstreams) expect(apiKey).to.be.oneOf(['made-up', null])
  })
})
