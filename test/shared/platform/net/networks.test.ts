import { expect } from 'chai'
import { allowancesOf, networkOf, networksOf } from '../../../../src/shared/platform/net/networks.ts'

describe('the networks of a client', () => {
  it('begin with an IPv4 address, or an IPv6 network of /64', () => {
    expect(networkOf('1.2.3.4')).to.equal('1.2.3.4')
    expect(networkOf('2001:db8:1:2:3:4:5:6')).to.equal('2001:db8:1:2::/64')
    expect(networkOf('2001:db8:1:2::')).to.equal(networkOf('2001:db8:1:2:ffff:ffff:ffff:ffff'))
    expect(networkOf('2001:db8::1')).to.equal('2001:db8:0:0::/64')
    expect(networkOf('::1')).to.equal('0:0:0:0::/64')
    expect(networkOf('2001:db8:1:3::1')).not.to.equal(networkOf('2001:db8:1:2::1'))
  })

  it('go on with the /56 and /48 of IPv6, each with four times as much as the one inside it', () => {
    const due = ['2001:db8:1:abcd::/64', '2001:db8:1:ab00::/56', '2001:db8:1::/48']
    expect(networksOf('2001:db8:1:abcd::1')).to.deep.equal(due)
    expect(networksOf('2001:db8:1:2::1').slice(1)).to.deep.equal(networksOf('2001:db8:1:ff::1').slice(1))
    expect(networksOf('1.2.3.4')).to.deep.equal(['1.2.3.4'])
    expect(allowancesOf(30)).to.deep.equal([30, 120, 480])
  })

  it('are one and the same for all clients without an address', () => {
    expect(networksOf('')).to.deep.equal(['unknown'])
  })
})
