import { expect } from 'chai'
import pino from 'pino'
import { testConfig } from '../../../scripts/harness/harness.ts'
import { clientAddress, warnOfProxies } from '../../../src/api/middleware/client-address.ts'
import { startWeb } from '../../../src/api/web.ts'
import type { Log } from '../../../src/shared/platform/process/log.ts'

const request = (peer: string | undefined, forwarded?: string | string[]) =>
  ({
    headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
    socket: { remoteAddress: peer },
  }) as Parameters<typeof clientAddress>[0]

describe('the client address', () => {
  it('is the peer where no proxy is trusted, whatever the header says', () => {
    expect(clientAddress(request('8.8.4.4', '1.1.1.1, 2.2.2.2'), 0)).to.equal('8.8.4.4')
  })

  it('is read from the right, by the number of trusted hops', () => {
    const forwarded = '1.1.1.1, 2.2.2.2, 3.3.3.3'
    const due = ['3.3.3.3', '2.2.2.2', '1.1.1.1']
    expect([1, 2, 3].map((hops) => clientAddress(request('10.0.0.1', forwarded), hops))).to.deep.equal(due)
  })

  it('is the leftmost entry if there are fewer than hops, and the peer if there is none', () => {
    expect(clientAddress(request('10.0.0.1', '1.1.1.1'), 3)).to.equal('1.1.1.1')
    expect(clientAddress(request('10.0.0.1'), 1)).to.equal('10.0.0.1')
    expect(clientAddress(request('10.0.0.1', ''), 1)).to.equal('10.0.0.1')
  })

  it('is the peer if the trusted entry is not an address', () => {
    for (const forwarded of ['unknown', '01.1.1.1', '1.1.1.1\0', 'a'.repeat(8000), '1.1.1.1,', '[::1', '1.1.1.1:x']) {
      expect(clientAddress(request('10.0.0.1', forwarded), 1), JSON.stringify(forwarded.slice(0, 20))).to.equal(
        '10.0.0.1',
      )
    }
  })

  it('has one spelling', () => {
    for (const [spelled, plain] of [
      ['1.2.3.4:5678', '1.2.3.4'],
      ['::ffff:1.2.3.4', '1.2.3.4'],
      ['::FFFF:102:304', '1.2.3.4'],
      ['[::ffff:1.2.3.4]:80', '1.2.3.4'],
      ['2001:DB8:0:0:0:0:0:1', '2001:db8::1'],
      ['[2001:db8::1]:443', '2001:db8::1'],
      ['[2001:db8::1]', '2001:db8::1'],
      ['fe80::1%eth0', 'fe80::1'],
      [' 1.2.3.4 ', '1.2.3.4'],
    ]) {
      expect(clientAddress(request('10.0.0.1', spelled), 1), spelled).to.equal(plain)
      expect(clientAddress(request(spelled), 0), spelled).to.equal(plain)
    }
  })

  it('is empty if nothing is known', () => {
    expect(clientAddress(request(undefined), 0)).to.equal('')
  })
})

describe('a proxy whose word is not believed', () => {
  const forwarded = { headers: { 'x-forwarded-for': '1.2.3.4' } }
  const warningsOf = (trustedHops: number, requests: { headers: Record<string, string> }[]): string[] => {
    const said: string[] = []
    const warn = warnOfProxies(trustedHops, { warn: (text: string) => void said.push(text) } as Pick<Log, 'warn'>)
    for (const request of requests) warn(request)
    return said
  }

  it('is not warned of where none stands there, or its word is believed', () => {
    expect(warningsOf(0, [{ headers: {} }])).to.deep.equal([])
    expect(warningsOf(1, [forwarded])).to.deep.equal([])
  })

  it('is warned of in the log of a web process', async () => {
    const lines: string[] = []
    const log = pino({}, { write: (line: string) => void lines.push(line) })
    const { port, stop } = await startWeb(await testConfig('http://127.0.0.1:9'), log, 0)
    for (let times = 0; times < 2; times++) {
      await fetch(`http://127.0.0.1:${port}/healthz`, { headers: { 'x-forwarded-for': '1.2.3.4' } })
    }
    await stop()
    expect(lines.filter((line) => line.includes('TRUST_PROXY'))).to.have.lengthOf(1)
  })
})
