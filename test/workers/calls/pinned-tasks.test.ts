import { expect } from 'chai'
import { routeOfTask } from '../../../src/workers/calls/run-media.ts'
import { routeTo } from '../upstreams/sandbox-upstreams.ts'

const keys = [
  { name: 'a', secret: 'secret-a', weight: 1, models: ['another'] },
  { name: 'b', secret: 'secret-b', weight: 0 },
  { name: 'c', secret: 'secret-c', weight: 5 },
]
const routes = ['other', 'pool'].map((name) =>
  routeTo('fal', 'http://x.test', { upstream: { name, key: 'a', apiKey: 'secret-a', keys } }),
)

describe('the task of a call', () => {
  const TABLE: [what: string, upstream: string, key: string | null, secret: string | null][] = [
    ['is at the key that has made it, although that gets nothing new', 'pool', 'b', 'secret-b'],
    ['is at the key that has made it, although that no longer serves its model', 'pool', 'a', 'secret-a'],
    ['is at the first key where it was made before keys had names', 'pool', null, 'secret-a'],
    ['is nowhere without that key: no other key knows it', 'pool', 'gone', null],
    ['is nowhere without its upstream', 'gone', 'b', null],
  ]
  for (const [what, upstream, upstreamKey, secret] of TABLE)
    it(what, () => {
      const route = routeOfTask({ routes }, { call: { upstream, upstreamKey } })
      expect(route && [route.upstream.name, route.upstream.apiKey]).to.deep.equal(secret && [upstream, secret])
    })
})
