import { expect } from 'chai'
import type { Dialect } from '../../../src/shared/chat/dialect.ts'
import type { Fields } from '../../../src/shared/platform/fields.ts'
import { blocksIn } from '../../support/blocks.ts'
import { PIXEL } from '../../support/pixel.ts'
import type { RouteChanges } from './sandbox-upstreams.ts'
import type { Protocol } from './translated.ts'
import { ask } from './translated.ts'

/** What stands for what in the file; `$"x"` is a text of a message, `$marked"x"` one that ends a cached prefix. */
const WORDS: Record<string, string> = {
  hello: '{"role":"user","content":"hello"}',
  hour: '{"type":"ephemeral","ttl":"1h"}',
  long: 'u'.repeat(159),
  pixel: PIXEL,
}
const written = (text: string): string =>
  text
    .replaceAll(/\$marked("[^"]*")/g, '{"type":"text","text":$1,"cache_control":{"type":"ephemeral"}}')
    .replaceAll(/\$("[^"]*")/g, '{"type":"text","text":$1}')
    .replaceAll(/\$(hello|hour|long|pixel)/g, (_all, word: string) => WORDS[word]!)

// In sent-bodies.txt, where a line `=== DIALECT PROTOCOL GUARANTEE` begins a block. A line `>` is what a client asks,
// with what its route changes in `route`; the next one is what the upstream is sent: `=` all of it, `<` these fields of
// it, of which those that are null are not sent. What becomes of each single field: cells.test.ts.
describe('the body that an upstream is sent', () => {
  for (const { head, lines } of blocksIn('test/workers/upstreams/sent-bodies.txt', written)) {
    const [, dialect, protocol, guarantee] = /^(\w+) (\w+) (.*)$/.exec(head)!
    it(`${guarantee}: ${dialect} over ${protocol}`, () => {
      for (let at = 0; at < lines.length; at += 2) {
        const [asked, sent] = [lines[at]!, lines[at + 1]!].map((line) => JSON.parse(line.slice(2)) as Fields)
        const { route, ...fields } = asked!
        const { body } = ask(dialect as Dialect, fields, protocol as Protocol, 'a', route as RouteChanges)
        const whole = JSON.parse(JSON.stringify(body)) as Fields
        const names = lines[at + 1]!.startsWith('=') ? Object.keys({ ...whole, ...sent }) : Object.keys(sent!)
        const told = Object.fromEntries(names.map((name) => [name, whole[name] ?? null]))
        expect(told, lines[at]).to.deep.equal(sent)
      }
    })
  }
})
