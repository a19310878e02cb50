import { expect } from 'chai'
import type { Resolver } from '../../../src/workers/fetching/connections.ts'
import { destinationOf } from '../../../src/workers/fetching/destinations.ts'
import { failureOf } from '../storage/media-files.ts'
import { LOOPBACK, PUBLIC, answering, hanging, signal } from './harness.ts'

describe('destinationOf', () => {
  it('classifies an address', async () => {
    const cases: [string, Resolver, string][] = [
      ['https://cdn.example.com/a.png', answering(PUBLIC), 'public'],
      ['https://8.8.8.8/a.png', answering(LOOPBACK), 'public'],
      ['https://cdn.example.com/a.png', answering(LOOPBACK), 'private'],
      ['https://cdn.example.com/a.png', answering([...PUBLIC, { address: '10.0.0.1', family: 4 }]), 'private'],
      ['https://cdn.example.com/a.png', answering([{ address: '169.254.169.254', family: 4 }]), 'private'],
      ['http://127.1/a.png', answering(PUBLIC), 'private'],
      ['http://cdn.example.com:22/a.png', answering(PUBLIC), 'private'],
      ['http://8.8.8.8:6379/a.png', answering(PUBLIC), 'public'],
      ['http://localhost/a.png', answering(PUBLIC), 'private'],
      ['ftp://cdn.example.com/a.png', answering(PUBLIC), 'private'],
      ['https://cdn.example.com/a.png', answering([]), 'unresolved'],
      [
        'https://cdn.example.com/a.png',
        () => Promise.reject(Object.assign(new Error('again'), { code: 'EAI_AGAIN' })),
        'unresolved',
      ],
      ['https://cdn.example.com/a.png', hanging, 'unchecked'],
    ]
    for (const [url, resolver, expected] of cases) {
      expect(await destinationOf([url], resolver, 30, signal), url).to.equal(expected)
    }
  })

  it('returns the worst of several, and looks each name up once', async () => {
    const zone: Record<string, Resolver> = {
      'a.example.com': answering(PUBLIC),
      'b.example.com': answering([]),
      'c.example.com': hanging,
      'd.example.com': answering(LOOPBACK),
    }
    const worstOf = async (letters: string) => {
      const asked: string[] = []
      const resolver: Resolver = (hostname, given) => {
        asked.push(hostname)
        return zone[hostname]!(hostname, given)
      }
      const urls = `${letters}${letters}`.split('').map((letter, at) => `https://${letter}.example.com/${at}.png`)
      const worst = await destinationOf(urls, resolver, 30, signal)
      expect(asked.length, letters).to.equal(new Set(asked).size)
      return worst
    }
    expect(await worstOf('')).to.equal('public')
    expect(await worstOf('a')).to.equal('public')
    expect(await worstOf('ba')).to.equal('unresolved')
    expect(await worstOf('cba')).to.equal('unchecked')
    expect(await worstOf('dcba')).to.equal('private')
  })

  it('ends with the reason of the signal', async () => {
    const reason = new Error('stop')
    const controller = new AbortController()
    const work = failureOf(destinationOf(['https://cdn.example.com/'], hanging, 5000, controller.signal))
    controller.abort(reason)
    expect(await work).to.equal(reason)
  })
})
