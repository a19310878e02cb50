import { expect } from 'chai'
import { Billing } from '../../sandbox/records/billing.ts'
import { Journal } from '../../sandbox/records/journal.ts'
import { prompted } from '../../scripts/harness/calling.ts'
import { get, post } from '../../scripts/harness/http.ts'
import { chatAt, useSandbox } from './support/client.ts'
import type { Fields } from './support/client.ts'

describe('the records of the sandbox', () => {
  const own = useSandbox()

  async function report(what: string, prompt: string): Promise<Fields> {
    return (await get(`${own.url}/sandbox/${what}?prompt=${encodeURIComponent(prompt)}`)).json as Fields
  }

  it('show requests with their unknown fields, and no key', async () => {
    const mark = prompted()
    await chatAt(own, mark, { unheard_of: { deep: [1] } })
    const { entries } = await report('journal', mark)
    expect(entries).to.have.length(1)
    expect(entries[0]).to.include({ protocol: 'openai', method: 'POST', path: '/v1/chat/completions', status: 200 })
    expect(entries[0].body.unheard_of).to.deep.equal({ deep: [1] })
    expect(entries[0].headers.authorization).to.equal('Bearer [redacted]')
  })

  it('keep large bodies short', async () => {
    const mark = prompted()
    await chatAt(own, mark, { image: `data:image/png;base64,${'A'.repeat(100_000)}` })
    expect(JSON.stringify(own.journal(mark)).length).to.be.below(3000)
  })

  it('survive a body that is nested too deeply to be printed', async () => {
    const mark = prompted()
    const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: mark }], deep: 0 })
    const deep = body.replace('"deep":0', `"deep":${'['.repeat(20_000)}${']'.repeat(20_000)}`)
    await post(`${own.url}/v1/chat/completions`, 'made-up', deep)
    expect((await report('journal', mark))['entries']).to.have.length(1)
  })
})

describe('the bounds of the records', () => {
  it('keep totals exact when single entries and prompts are forgotten', () => {
    const billing = new Billing()
    for (let n = 0; n < 210_000; n += 1) billing.add('openai', 'm', `prompt ${n}.`)
    const all = billing.report()
    expect(all).to.include({ total: 210_000, forgottenPrompts: 10_000 })
    expect(all.byModel).to.deep.equal({ m: 210_000 })
    expect(all.entries).to.have.length(10_000)
    expect(billing.report('prompt 209999.').total).to.equal(1)
    expect(billing.report('prompt 20000.').total).to.equal(1)
  })

  it('keep the last thousand requests, oldest first', () => {
    const journal = new Journal()
    for (let n = 0; n < 1500; n += 1) {
      const request = { protocol: 'openai', method: 'GET', path: `/${n}`, headers: {}, body: {}, model: '', prompt: '' }
      journal.add({ ...request, at: n, status: 200 })
    }
    const paths = journal.lines().map((line) => line.path)
    expect([paths.length, paths[0], paths.at(-1)]).to.deep.equal([1000, '/500', '/1499'])
  })
})
