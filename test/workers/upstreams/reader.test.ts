import { Readable } from 'node:stream'
import { expect } from 'chai'
import { readAnswer } from '../../../src/workers/upstreams/reader.ts'
import type { Said } from '../../../src/workers/upstreams/reader.ts'

/** What a body says that comes in one piece. */
async function saidBy(text: string): Promise<Said[]> {
  const said: Said[] = []
  const failure = (): never => expect.fail('the connection broke')
  const body = { source: Readable.from([Buffer.from(text)]), maxBytes: 1000, isChat: true, failure, release: () => {} }
  await readAnswer(body, (one) => said.push(one) > 0)
  return said
}

describe('an answer of JSON', () => {
  it('is passed on as it came only where no reader of events would end a line inside it', async () => {
    for (const space of ['', ' ', '\u2028', '\u0085']) {
      const text = `{"text":"${space}"}`
      expect(await saidBy(text)).to.have.nested.property('[0].line', text)
    }
    for (const end of ['\n', '\r', '\r\n'])
      expect(await saidBy(`{"one":1,${end}"two":2}`)).to.have.nested.property('[0].line', undefined)
  })
})
