import { expect } from 'chai'
import { ApiError } from '../../../src/shared/platform/errors.ts'
import { withHashing } from '../../../src/shared/identity/hashing-gate.ts'

/** Hashes that end on request, and the order in which they begin. */
class Hashes {
  readonly begun: string[] = []
  private readonly open: (() => void)[] = []

  /** Asks for a hash. @returns `done`, or the code that it was refused with. */
  async ask(address: string, known = false): Promise<string> {
    try {
      return await withHashing({ address, known }, async () => {
        this.begun.push(address)
        await new Promise<void>((resolve) => this.open.push(resolve))
        return 'done'
      })
    } catch (error) {
      return (error as ApiError).code
    }
  }

  many = (count: number, address: string, known = false): Promise<string>[] =>
    Array.from({ length: count }, () => this.ask(address, known))

  /** Ends all that begin from now on, one after the other, until none is left. */
  async finish(all: Promise<string>[]): Promise<string[]> {
    let left = true
    const results = Promise.all(all).finally(() => (left = false))
    while (left) {
      this.open.shift()?.()
      await new Promise((resolve) => setImmediate(resolve))
    }
    return results
  }
}

const refusedOf = (results: string[]): number => results.filter((one) => one === 'overloaded').length

describe('the hashing gate', () => {
  it('runs 2 hashes at once, lets 200 wait, and refuses more for now', async () => {
    const hashes = new Hashes()
    const all = hashes.many(202, '10.0.0.1')
    expect(hashes.begun).to.have.length(2)
    const refused = await withHashing({ address: '10.0.0.1', known: false }, () => Promise.resolve()).catch(
      (error: unknown) => error,
    )
    expect(refused).to.be.instanceOf(ApiError)
    expect(refused).to.include({ code: 'overloaded', retryAfterSeconds: 1 })
    expect(refusedOf(await hashes.finish(all))).to.equal(0)
  })

  it('is released by work that fails', async () => {
    const sender = { address: '10.0.0.1', known: false }
    await Promise.all(
      Array.from({ length: 10 }, () => withHashing(sender, () => Promise.reject(new Error('no'))).catch(() => {})),
    )
    expect(await withHashing(sender, () => Promise.resolve('through'))).to.equal('through')
  })

  it('lets networks take turns', async () => {
    const hashes = new Hashes()
    const flood = hashes.many(20, '10.0.0.1')
    const others = [...hashes.many(2, '10.0.0.2'), ...hashes.many(1, '10.0.0.3')]
    await hashes.finish([...flood, ...others])
    expect(hashes.begun.slice(2, 8)).to.deep.equal('10.0.0.1 10.0.0.2 10.0.0.3 10.0.0.1 10.0.0.2 10.0.0.1'.split(' '))
  })

  it('refuses those who fill it, however they came first, and nobody else', async () => {
    const hashes = new Hashes()
    const flood = Array.from({ length: 10 }, (_, index) => hashes.many(30, `10.0.0.${index}`)).flat()
    const others = ['10.1.0.1', '10.1.0.2', '10.1.0.3', '2001:db8::1', '2001:db8:1::1'].flatMap((one) =>
      hashes.many(1, one),
    )
    const [floods, rest] = [hashes.finish(flood), Promise.all(others)]
    expect(await rest).to.deep.equal(Array<string>(5).fill('done'))
    expect(refusedOf(await floods)).to.equal(300 - 202 + 5)
    // Each of them was in the first round of turns.
    for (const one of ['10.1.0.1', '2001:db8:1::1']) expect(hashes.begun.indexOf(one)).to.be.below(20)
  })

  it('takes all of a /48 for one, and is fair within it', async () => {
    const hashes = new Hashes()
    const flood = Array.from({ length: 400 }, (_, index) => hashes.ask(`2001:db8:0:${index.toString(16)}::1`))
    const greedy = hashes.many(20, '2001:db8:0:ffff::1')
    const others = Array.from({ length: 20 }, (_, index) => hashes.ask(`10.2.0.${index}`))
    const [floods, rest] = [hashes.finish([...flood, ...greedy]), Promise.all(others)]
    expect(refusedOf(await rest)).to.equal(0)
    expect(refusedOf((await floods).slice(400))).to.be.at.least(19)
  })

  it('keeps places for those who are known, and takes them in turn', async () => {
    const hashes = new Hashes()
    const flood = Array.from({ length: 250 }, (_, index) => hashes.ask(`10.3.0.${index}`))
    const known = Array.from({ length: 50 }, (_, index) => hashes.ask(`10.4.0.${index}`, true))
    const [floods, rest] = [hashes.finish(flood), Promise.all(known)]
    expect(refusedOf(await rest)).to.equal(0)
    expect(refusedOf(await floods)).to.equal(250 - 202)
    expect(hashes.begun.slice(2, 102).filter((one) => one.startsWith('10.4.'))).to.have.length(50)
  })
})
