import { expect } from 'chai'
import { candidatesOf, parseHosts, parseResolvConf, readNameFiles } from '../../../src/workers/fetching/dns-lookups.ts'

describe("the machine's resolver files", () => {
  it('give the addresses of the names in the hosts file, in any case', () => {
    const hosts = parseHosts('127.0.0.1 localhost Box # our own\n# 1.1.1.1 off\n::1\tlocalhost\n\nno address\n')
    expect([...hosts]).to.deep.equal([
      ['localhost', ['127.0.0.1', '::1']],
      ['box', ['127.0.0.1']],
    ])
  })

  it('have the last search list, and the dots of a full name', () => {
    expect(parseResolvConf('')).to.deep.equal({ search: [], ndots: 1 })
    expect(parseResolvConf('domain a.example\n')).to.deep.equal({ search: ['a.example'], ndots: 1 })
    const text =
      'nameserver 10.0.0.10\nsearch old.example\nsearch prod.svc.cluster.local svc.cluster.local.\n' +
      'options timeout:1 ndots:5\n'
    expect(parseResolvConf(text)).to.deep.equal({ search: ['prod.svc.cluster.local', 'svc.cluster.local'], ndots: 5 })
  })

  it('decide which names are tried, and in which order', () => {
    const search = ['a.example', 'b.example']
    expect(candidatesOf('x.y', { search, ndots: 1 })).to.deep.equal(['x.y', 'x.y.a.example', 'x.y.b.example'])
    expect(candidatesOf('x.y', { search, ndots: 2 })).to.deep.equal(['x.y.a.example', 'x.y.b.example', 'x.y'])
    expect(candidatesOf('x.y.', { search, ndots: 2 })).to.deep.equal(['x.y.'])
  })

  it('are read from this machine', () => {
    expect(readNameFiles().hosts.get('localhost')).to.include.oneOf(['127.0.0.1', '::1'])
  })
})
