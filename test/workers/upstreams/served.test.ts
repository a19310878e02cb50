import { expect } from 'chai'
import { PROTOCOLS, SERVED } from '../../../src/shared/catalogue/catalogue.ts'
import { createUpstreams } from '../../../src/workers/upstreams/registry.ts'

describe('what a protocol serves', () => {
  const upstreams = createUpstreams({ accountShare: 1 })
  after(() => upstreams.close())

  for (const protocol of PROTOCOLS) {
    it(`is what the catalogue has for ${protocol}`, () => {
      expect(Object.keys(upstreams.adapterOf(protocol))).to.have.members([...SERVED[protocol]])
    })
  }
})
