import { expect } from 'chai'
import { steeringHelp } from '../../sandbox/help.ts'
import { MalformedWord, readSteering, UNSTEERED, withoutSteering, WORDS } from '../../sandbox/steering.ts'

describe('steering words', () => {
  it('reads several words of one prompt', () => {
    const steering = readSteering('draw [delay 1500] a cat [status 429 retry-after 1], [usage 1000 2000] please')
    expect(steering).to.deep.equal({
      delay: 1500,
      status: { status: 429, headers: { 'retry-after': '1' } },
      usage: [1000, 2000],
    })
  })

  it('treats brackets that do not begin with a steering word as text', () => {
    expect(readSteering('a [red] fox and ["status"] and [')).to.equal(UNSTEERED)
    expect(readSteering('[constructor] [__proto__]')).to.equal(UNSTEERED)
  })

  it('refuses a known word whose arguments do not fit its syntax', () => {
    for (const prompt of ['[status]', '[status abc]', '[status 99]', '[delay soon]', '[hang 3]', '[fail-times 2]']) {
      expect(() => readSteering(prompt), prompt).to.throw(MalformedWord)
    }
  })

  it('lets an address have brackets of its own', () => {
    expect(readSteering('[redirect http://[::1]:80/x]')).to.deep.equal({ redirect: 'http://[::1]:80/x' })
  })

  it('leaves the rest of the prompt when the words are removed', () => {
    expect(withoutSteering('say [echo] this [really] [delay 1]')).to.equal('say this [really]')
  })

  it('reads a hostile prompt of a megabyte at once', () => {
    const started = performance.now()
    for (const piece of ['[', '[a ', '[answer ', '[answer x[', '[aaaa', '[answer []']) {
      readSteering(piece.repeat(1_000_000 / piece.length))
    }
    expect(performance.now() - started).to.be.below(10_000)
  })

  it('documents every word in the help', () => {
    for (const name of Object.keys(WORDS)) expect(steeringHelp()).to.match(new RegExp(`\\[${name}[ \\]]`))
  })
})
