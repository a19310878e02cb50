import { expect } from 'chai'
import { PROTOCOLS, SERVED } from '../../../src/shared/catalogue/catalogue.ts'
import { UpstreamError } from '../../../src/workers/upstreams/adapter.ts'
import { createUpstreams } from '../../../src/workers/upstreams/registry.ts'
import { routeTo } from './sandbox-upstreams.ts'

describe('what a protocol serves', () => {
  const upstreams = createUpstreams({ accountShare: 1 })
  after(() => upstreams.close())

  for (const protocol of PROTOCOLS) {
    it(`is what the catalogue has for ${protocol}`, () => {
      expect(Object.keys(upstreams.adapterOf(protocol))).to.have.members([...SERVED[protocol]])
    })
  }

  it('is all that it is asked for', () => {
    const refused = () => upstreams.adapterFor(routeTo('anthropic', 'http://x.test'), 'video')
    expect(refused).to.throw(UpstreamError).with.property('kind', 'rejected')
  })
})
