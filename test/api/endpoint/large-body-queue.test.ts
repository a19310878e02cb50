import { expect } from 'chai'
import { LARGE_BYTES, LargeBodies, waitingBounds } from '../../../src/api/endpoint/large-body-queue.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import { useWeb } from '../../support/gateway.ts'
import { post } from '../../../scripts/harness/http.ts'
import { CHAT } from '../../../scripts/harness/calling.ts'

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('large bodies', () => {
  it('of one account have their turns one after the other, in their order, and others meanwhile', async () => {
    const bodies = new LargeBodies(waitingBounds(0))
    const begun: string[] = []
    const ask = (sender: string, name: string, bytes = LARGE_BYTES + 1) =>
      bodies.turnOf(sender, bytes).then((end) => {
        begun.push(name)
        setImmediate(end)
      })
    const all = ['a1', 'a2', 'a3'].map((name) => ask('a', name))
    all.push(ask('b', 'b1'))
    await Promise.resolve()
    await new Promise<void>((resolve) => process.nextTick(resolve))
    expect(begun.toSorted(), 'in the first turn of the event loop').to.deep.equal(['a1', 'b1'])
    let turns = 0
    while (begun.length < 4) {
      const before = begun.length
      await nextTurn()
      expect(begun.length - before, 'in one turn').to.be.at.most(1)
      expect(++turns).to.be.below(20)
    }
    expect(begun.filter((name) => name.startsWith('a'))).to.deep.equal(['a1', 'a2', 'a3'])
    await Promise.all(all)
  })

  it('are in work up to so many bytes of all accounts, in their order, and one that is longer by itself', async () => {
    const bodies = new LargeBodies(waitingBounds(0), 3 * LARGE_BYTES)
    const ends: (() => void)[] = []
    const ask = async (sender: string, bytes: number) => void ends.push(await bodies.turnOf(sender, bytes))
    for (const [sender, bytes] of Object.entries({ a: 2, b: 2, c: 1, d: 9 })) void ask(sender, bytes * LARGE_BYTES)
    for (const begun of [1, 2, 1]) {
      await nextTurn()
      expect(ends).to.have.lengthOf(begun)
      for (const end of ends.splice(0)) end()
    }
  })

  it('are refused where too many bytes of one account wait, and those of others are not', async () => {
    const bodies = new LargeBodies({ perAccount: 300_000, perProcess: 1_000_000 })
    const outcome = (sender: string) =>
      bodies.turnOf(sender, 100_000).then(
        (end) => {
          setImmediate(end)
          return 'turn'
        },
        (error: { code: string }) => error.code,
      )
    const own = Array.from({ length: 5 }, () => outcome('a'))
    const other = outcome('b')
    expect((await Promise.all(own)).filter((one) => one === 'rate_limited')).to.have.lengthOf(2)
    expect([await other, await outcome('a')]).to.deep.equal(['turn', 'turn'])
  })
})

describe('a quote', () => {
  const web = useWeb()

  const left = (headers: Headers): number => Number(headers.get('x-ratelimit-remaining-requests'))
  const quoteOf = (bytes: number) => {
    const body = (text: string) => ({
      endpoint: CHAT,
      body: { model: 'sandbox-chat', messages: [{ role: 'user', content: text }] },
    })
    return body('x'.repeat(bytes - JSON.stringify(body('')).length))
  }

  it('counts once for each 64 kB of its body that it begins', async () => {
    const { key } = await anAccount(web.db, 10)
    let remaining = 600
    for (const [bytes, count] of [
      [200, 1],
      [65_536, 1],
      [65_537, 2],
      [859_136, 14],
      [1_048_576, 16],
    ] as const) {
      const { status, headers } = await post(`${web.url}/v1/quotes`, key, quoteOf(bytes))
      expect([status, left(headers)], `${bytes} bytes`).to.deep.equal([200, remaining - count])
      remaining -= count
    }
  })

  it('counts like one of the longest where its length is not said', async () => {
    const { key } = await anAccount(web.db, 10)
    const response = await fetch(`${web.url}/v1/quotes`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: new Blob([JSON.stringify(quoteOf(200))]).stream(),
      duplex: 'half',
    } as RequestInit)
    expect([response.status, left(response.headers)]).to.deep.equal([200, 600 - 17])
  })

  it('is refused once the minute is spent, however few there were', async () => {
    const { key } = await anAccount(web.db, 10)
    const statuses: number[] = []
    // One after the other: sent at once they come slowly, and of slow bodies an account may send less.
    while (statuses.at(-1) !== 429 && statuses.length < 600)
      statuses.push((await post(`${web.url}/v1/quotes`, key, quoteOf(1_048_576))).status)
    expect(statuses).to.deep.equal([...Array.from({ length: Math.floor(600 / 16) }, () => 200), 429])
  })
})
