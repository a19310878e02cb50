import { expect } from 'chai'
import { until } from '../../../scripts/harness/until.ts'
import { systemResolver } from '../../../src/workers/fetching/connections.ts'
import { FetchFailed } from '../../../src/workers/fetching/failure.ts'
import type { NameSettings } from '../../../src/workers/fetching/dns-lookups.ts'
import { createNameResolver, oncePerCall } from '../../../src/workers/fetching/dns-lookups.ts'
import type { DnsEntry, DnsServer } from '../../support/dns-server.ts'
import { startDnsServer } from '../../support/dns-server.ts'
import { failureOf } from '../storage/media-files.ts'
import { signal } from './harness.ts'

const ZONE: Record<string, DnsEntry> = {
  'both.example': { addresses: ['93.184.216.34', '2606:4700::1111'] },
  'four.example': { addresses: ['93.184.216.34'] },
  'six.example': { addresses: ['2606:4700::1111'] },
  'alias.example': { alias: 'inside.example', addresses: ['10.0.0.1'] },
  'empty.example': { addresses: [] },
  'broken.example': 'SERVFAIL',
  'db.prod.svc.cluster.local': { addresses: ['10.96.0.7'] },
  'db.prod': { addresses: ['93.184.216.34'] },
}

const NO_FILES = { hosts: new Map(), search: [], ndots: 1 } as const

describe('a resolver of untrusted names', function () {
  let server: DnsServer
  before(async () => {
    server = await startDnsServer((name) => (name.startsWith('silent') ? 'silent' : ZONE[name]))
  })
  after(() => server.close())
  beforeEach(() => {
    server.questions.length = 0
  })

  const resolver = (settings: NameSettings = {}) =>
    createNameResolver({ servers: [server.address], files: NO_FILES, ...settings })
  const addresses = async (name: string, settings?: NameSettings): Promise<string[]> =>
    (await resolver(settings)(name, signal)).map(({ address }) => address)

  it('finds the addresses of both kinds, also behind an alias', async () => {
    expect(await resolver()('both.example', signal)).to.deep.equal([
      { address: '93.184.216.34', family: 4 },
      { address: '2606:4700::1111', family: 6 },
    ])
    expect(await addresses('four.example')).to.deep.equal(['93.184.216.34'])
    expect(await addresses('six.example')).to.deep.equal(['2606:4700::1111'])
    expect(await addresses('alias.example')).to.deep.equal(['10.0.0.1'])
    expect(await addresses('four.example.')).to.deep.equal(['93.184.216.34'])
  })

  it('distinguishes a name without an address from one whose name servers do not answer', async () => {
    const cases = [
      ['nowhere.example', 'ENOTFOUND', 'The name does not resolve.'],
      ['empty.example', 'ENODATA', 'The name does not resolve.'],
      ['broken.example', 'ESERVFAIL', 'The name does not resolve: its name servers gave no answer.'],
      ['silent.example', 'ECANCELLED', 'The name does not resolve: its name servers gave no answer.'],
    ] as const
    await Promise.all(
      cases.map(async ([name, code, message]) => {
        const error = await failureOf(resolver()(name, signal))
        expect(error, name).to.be.instanceOf(FetchFailed).and.include({ problem: 'unresolved', message })
        expect((error as FetchFailed).cause, name)
          .to.have.property('code')
          .that.is.oneOf([code, 'ETIMEOUT'])
      }),
    )
  })

  it('finds names of the hosts file without a question', async () => {
    const files = { ...NO_FILES, hosts: new Map([['four.example', ['10.0.0.9', '::1']]]) }
    expect(await resolver({ files })('FOUR.example.', signal)).to.deep.equal([
      { address: '10.0.0.9', family: 4 },
      { address: '::1', family: 6 },
    ])
    expect(server.questions).to.deep.equal([])
  })

  it('uses the search domains as the machine does, so that names of the cluster are recognised', async () => {
    const search = ['svc.cluster.local']
    expect(await addresses('db.prod', { files: { ...NO_FILES, search, ndots: 5 } })).to.deep.equal(['10.96.0.7'])
    expect(await addresses('db.prod', { files: { ...NO_FILES, search } })).to.deep.equal(['93.184.216.34'])
    expect(await addresses('db.prod.', { files: { ...NO_FILES, search, ndots: 5 } })).to.deep.equal(['93.184.216.34'])
  })

  it('limits the names in flight, and asks for the next when one has ended', async () => {
    const resolve = resolver({ inFlight: 2 })
    const stop = new AbortController()
    const silent = [1, 2].map((at) => failureOf(resolve(`silent-${at}.example`, stop.signal)))
    const waiting = resolve('four.example', signal)
    await resolver()('both.example', signal)
    expect(server.questions).not.to.include('A four.example')
    stop.abort(new Error('stop'))
    expect((await waiting).map(({ address }) => address)).to.deep.equal(['93.184.216.34'])
    await Promise.all(silent)
  })

  it('looks up a hundred silent names without a thread, which the connections to upstreams wait for', async () => {
    const resolve = resolver()
    const calls = Array.from({ length: 100 }, () => new AbortController())
    const silent = calls.map((call, at) => failureOf(resolve(`silent-${at}.example`, call.signal)))
    await until('all to be asked', () => new Set(server.questions).size >= 2 * silent.length)
    // By a thread of the pool, of which there are four.
    expect(await systemResolver('localhost', signal)).to.not.be.empty
    const reason = new Error('stop')
    for (const call of calls) call.abort(reason)
    expect(new Set(await Promise.all(silent)), 'none had ended before').to.deep.equal(new Set([reason]))
  })

  it('is cancelled by its signal, and then leaves no question open', async () => {
    const reason = new Error('stop')
    const stop = new AbortController()
    const work = failureOf(resolver({ inFlight: 1 })('silent.example', stop.signal))
    stop.abort(reason)
    expect(await work).to.equal(reason)
  })

  it('looks a name up once for a call, however often it is requested', async () => {
    const namesOf = oncePerCall(resolver())
    const [one, other] = [new AbortController().signal, new AbortController().signal]
    await Promise.all(Array.from({ length: 50 }, () => namesOf(one)('both.example', one)))
    expect(server.questions.toSorted()).to.deep.equal(['A both.example', 'AAAA both.example'])
    await namesOf(other)('both.example', other)
    expect(server.questions.length).to.equal(4)
  })
})
