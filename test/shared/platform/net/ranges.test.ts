import { expect } from 'chai'
import { BlockList, isIP } from 'node:net'
import { parseRange } from '../../../../src/shared/platform/net/networks.ts'

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
    ' 10.0.0.0/8',
    '10.0.0.0/8 ',
    '10.0.0.0 /8',
    ...(
      '/ /8 10.0.0.0/ ::198.51.100.9 ::198.51.100.0/120 ::0:198.51.100.9 10.0.0.0/33 10.0.0.0/08 10.0.0.0/+8 ' +
      '10.0.0.0/-1 10.0.0.0/8.0 10.0.0.0/8/8 10.0.0.0/255.0.0.0 10.0.0 10 010.0.0.1 10.0.0.01 0x0a.0.0.1 10.0.0.256 ' +
      '10.0.0.0.0 １０.0.0.1 10.0.0.1:80 [::1] [::1]/128 ::1/129 ::1/0128 fe80::1%eth0 fe80::1%eth0/64 fe80::%1/10 ::: ' +
      '1::2::3 ' +
      '1:2:3:4:5:6:7 1:2:3:4:5:6:7:8:9 12345:: g:: ::ffff:10.0.0.256 ::ffff:010.0.0.1 ::ffff:10.0.0.1/129 localhost ' +
      'example.com/24 10.0.0.0/8\0 10.0.0.0/8\n 10.0.0.0/٨ * 10.*'
    ).split(' '),
  ]
  for (const text of WRONG) {
    it(`refuses ${JSON.stringify(text)}`, () => {
      expect(parseRange(text)).to.equal(null)
    })
  }

  it("has in it what Node's own list of ranges has, for two thousand ranges", () => {
    const random = (below: number) => Math.floor(Math.random() * below)
    const someV4 = () => Array.from({ length: 4 }, () => random(256)).join('.')
    for (let round = 0; round < 2000; round++) {
      const v4 = someV4()
      const groups = Array.from({ length: 8 }, () => (random(3) === 0 ? '0' : random(65_536).toString(16)))
      const v6 = [groups.join(':'), `::ffff:${v4}`, `${groups.slice(0, 3).join(':')}::${groups.slice(4, 6).join(':')}`][
        random(3)
      ]!
      const [network, bits] = random(2) === 0 ? [v4, random(33)] : [v6, random(129)]
      const [asked, read] = [new BlockList(), new BlockList()]
      const familyOf = (address: string) => (isIP(address) === 4 ? 'ipv4' : 'ipv6')
      asked.addSubnet(network, bits, familyOf(network))
      const text = `${network}/${bits}`
      const [readNetwork = '', readBits] = parseRange(text)!.split('/')
      read.addSubnet(readNetwork, Number(readBits), familyOf(readNetwork))
      for (const address of [network, readNetwork, bits % 2 === 0 ? someV4() : `${groups.slice(0, 7).join(':')}:1`])
        expect(read.check(address, familyOf(address)), `${address} in ${text}`).to.equal(
          asked.check(address, familyOf(address)),
        )
    }
  })
})
