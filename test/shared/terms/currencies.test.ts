import { expect } from 'chai'
import { shown } from '../../../sandbox/stripe/markup.ts'
import { packsSchema, topUpSchema } from '../../../src/shared/catalogue/packs.ts'
import { termsOf } from '../../../src/shared/payments/checkout.ts'
import { decimalText, digitsOf, moneyText, stepOf } from '../../../src/shared/terms/currencies.ts'

describe('currencies', () => {
  it('have the digits of the payment provider, whatever the locale data of this program says', () => {
    const two = ['eur', 'usd', 'huf', 'cop', 'idr', 'pkr', 'isk', 'ugx', 'afn', 'rsd', 'twd']
    const none = ['jpy', 'krw', 'clp', 'vnd', 'xof', 'bif', 'mga', 'pyg']
    expect(two.map(digitsOf)).to.deep.equal(two.map(() => 2))
    expect(none.map(digitsOf)).to.deep.equal(none.map(() => 0))
    expect(['KWD', 'bhd', 'jod', 'omr', 'tnd'].map(digitsOf)).to.deep.equal([3, 3, 3, 3, 3])
  })

  it('are written alike in mails, on the pages and by the sandbox', () => {
    expect(moneyText(500_000, 'huf')).to.equal('5000.00 HUF')
    expect(moneyText(500, 'jpy')).to.equal('500 JPY')
    expect(decimalText(1250, 'kwd')).to.equal('1.250')
    expect(shown(500_000, 'huf')).to.equal('HUF\u00a05,000.00')
    expect(shown(500, 'rsd')).to.equal('RSD\u00a05.00')
  })

  it('refuse in the catalogue what the provider does not take: parts of a króna, and thousandths of a dinar', () => {
    const pack = (currency: string, amountMinor: number) => ({ id: 'one', currency, amountMinor, credits: 100 })
    const faults = [pack('isk', 550), pack('ugx', 99), pack('kwd', 1255)].map(
      (one) => packsSchema.safeParse([one]).error?.issues.map(({ path, message }) => `${path.join('.')} ${message}`)[0],
    )
    expect(faults).to.deep.equal([
      '0.amountMinor must be a multiple of 100 in isk: the payment provider takes no others',
      '0.amountMinor must be a multiple of 100 in ugx: the payment provider takes no others',
      '0.amountMinor must be a multiple of 10 in kwd: the payment provider takes no others',
    ])
    expect(
      packsSchema.safeParse([pack('isk', 500), pack('huf', 501)].map((one, id) => ({ ...one, id: `${id}` }))).success,
    ).to.be.true
    const topUp = { currency: 'isk', minMinor: 150, maxMinor: 1000, creditsPer: 1, perMinor: 1 }
    expect(topUpSchema.safeParse(topUp).error?.issues[0]?.path).to.deep.equal(['minMinor'])
  })

  it('refuse such an amount at the checkout by its field', () => {
    const topUp = { currency: 'isk', minMinor: 100, maxMinor: 10_000, creditsPer: 1, perMinor: 1 }
    expect(() => termsOf({ packs: [], topUp }, { amountMinor: 550 })).to.throw(
      'amountMinor must be a multiple of 100 in ISK.',
    )
    expect(termsOf({ packs: [], topUp }, { amountMinor: 500 }).credits).to.equal(500)
    expect(stepOf('eur')).to.equal(1)
  })
})
