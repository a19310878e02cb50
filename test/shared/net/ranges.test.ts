import { expect } from 'chai'
import ipaddr from 'ipaddr.js'
import { parseRange } from '../../../src/shared/net/ranges.ts'

describe('a range of addresses', () => {
  const RIGHT: [text: string, range: string][] = [
    ['203.0.113.7', '203.0.113.7/32'],
    ['203.0.113.0/24', '203.0.113.0/24'],
    ['10.1.2.3/8', '10.0.0.0/8'],
    ['255.255.255.255/0', '0.0.0.0/0'],
    ['2001:db8::1', '2001:db8:0:0:0:0:0:1/128'],
    ['2001:DB8:1:2:3:4:5:6/33', '2001:db8:0:0:0:0:0:0/33'],
    ['::/0', '0:0:0:0:0:0:0:0/0'],
    ['::ffff:10.1.2.3', '10.1.2.3/32'],
    ['::ffff:10.1.2.3/104', '10.0.0.0/8'],
    ['::FFFF:a01:203/104', '10.0.0.0/8'],
    ['0:0:0:0:0:ffff:10.0.0.0/96', '0.0.0.0/0'],
    // Wider than the mapped addresses: a range of IPv6 addresses, which no IPv4 address is in.
    ['::ffff:10.0.0.0/95', '0:0:0:0:0:fffe:0:0/95'],
    ['64:ff9b::10.0.0.1/120', '64:ff9b:0:0:0:0:a00:0/120'],
    ['1::', '1:0:0:0:0:0:0:0/128'],
  ]
  for (const [text, range] of RIGHT) {
    it(`reads ${text} as ${range}`, () => {
      expect(parseRange(text)).to.equal(range)
      expect(parseRange(range)).to.equal(range)
    })
  }

  const WRONG = [
    '',
    ' ',
    '/',
    '/8',
    '10.0.0.0/',
    '10.0.0.0/33',
    '10.0.0.0/08',
    '10.0.0.0/+8',
    '10.0.0.0/-1',
    '10.0.0.0/8.0',
    '10.0.0.0/8/8',
    '10.0.0.0/255.0.0.0',
    ' 10.0.0.0/8',
    '10.0.0.0/8 ',
    '10.0.0.0 /8',
    '10.0.0',
    '10',
    '010.0.0.1',
    '10.0.0.01',
    '0x0a.0.0.1',
    '10.0.0.256',
    '10.0.0.0.0',
    '１０.0.0.1',
    '10.0.0.1:80',
    '[::1]',
    '[::1]/128',
    '::1/129',
    '::1/0128',
    'fe80::1%eth0',
    'fe80::1%eth0/64',
    'fe80::%1/10',
    ':::',
    '1::2::3',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    '12345::',
    'g::',
    '::ffff:10.0.0.256',
    '::ffff:010.0.0.1',
    '::ffff:10.0.0.1/129',
    'localhost',
    'example.com/24',
    '10.0.0.0/8\0',
    '10.0.0.0/8\n',
    '10.0.0.0/٨',
    '*',
    '10.*',
  ]
  for (const text of WRONG) {
    it(`refuses ${JSON.stringify(text)}`, () => {
      expect(parseRange(text)).to.equal(null)
    })
  }

  /** What another library makes of a text that is written plainly; IPv4-mapped ranges as their IPv4 ranges. */
  function secondOpinion(text: string): [bytes: number[], bits: number] {
    const [address, bits] = ipaddr.parseCIDR(text)
    if (address.kind() === 'ipv6' && bits >= 96 && (address as ipaddr.IPv6).isIPv4MappedAddress()) {
      return [(address as ipaddr.IPv6).toIPv4Address().toByteArray(), bits - 96]
    }
    return [address.toByteArray(), bits]
  }

  it('has in it what ipaddr.js says, for ten thousand ranges', () => {
    const random = (below: number) => Math.floor(Math.random() * below)
    for (let round = 0; round < 10_000; round++) {
      const v4 = Array.from({ length: 4 }, () => random(256)).join('.')
      const groups = Array.from({ length: 8 }, () => (random(3) === 0 ? '0' : random(65_536).toString(16)))
      const v6 = [groups.join(':'), `::ffff:${v4}`, `${groups.slice(0, 3).join(':')}::${groups.slice(4, 6).join(':')}`][
        random(3)
      ]!
      const text = random(2) === 0 ? `${v4}/${random(33)}` : `${v6}/${random(129)}`
      const [network, prefix] = ipaddr.parseCIDR(parseRange(text)!)
      const [bytes, bits] = secondOpinion(text)
      expect(prefix, text).to.equal(bits)
      const expected = bytes.map((byte, at) => byte & (0xff00 >> Math.min(8, Math.max(0, bits - 8 * at))) & 0xff)
      expect(network.toByteArray(), text).to.deep.equal(expected)
    }
  })
})
