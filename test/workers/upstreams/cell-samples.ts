/**
 * For each dialect, requests that ask for one thing each, and how upstreams of other dialects are asked for it: in
 * cell-samples/DIALECT.txt. There a line `=== FIELD FEATURE at PLACE` begins a sample; `at` is missing where a refusal
 * names the field. The next line is the fields of the request. Further lines name a dialect, and what is in the JSON
 * that a protocol of that dialect is sent: nothing of it has to be in there where nothing is named. `=== text-file` is
 * a file that is a text: every upstream is sent its words.
 */
import type { Dialect } from '../../../src/shared/chat/dialect.ts'
import { DIALECTS } from '../../../src/shared/chat/dialect.ts'
import type { Feature } from '../../../src/shared/chat/features.ts'
import type { Fields } from '../../../src/shared/platform/fields.ts'
import { blocksIn } from '../../support/blocks.ts'
import { PIXEL } from '../../support/pixel.ts'

/** `field`: of the body's schema. `at`: how a refusal names it. `wire`: what is sent of it, by dialect. */
export type Sample = {
  field: string
  feature: Feature
  body: Fields
  at: string
  wire: Partial<Record<Dialect, string>>
}

/** What stands for what in the files. */
const WORDS: Record<string, string> = {
  pixel: PIXEL,
  pdf: 'data:application/pdf;base64,JVBERi0x',
  word: 'data:application/msword;base64,AAAA',
  schema: '{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}',
}

const written = (text: string): string => text.replaceAll(/\$(pixel|pdf|word|schema)/g, (_all, word) => WORDS[word]!)

const blocksOf = (dialect: Dialect) =>
  blocksIn(`test/workers/upstreams/cell-samples/${dialect}.txt`, written).map(
    ({ head, lines: [body = '', ...lines] }) => ({
      head,
      body: JSON.parse(body) as Fields,
      lines,
    }),
  )

const of = <T>(read: (dialect: Dialect) => T): Record<Dialect, T> =>
  Object.fromEntries(DIALECTS.map((dialect) => [dialect, read(dialect)])) as Record<Dialect, T>

/** The requests of each dialect. */
export const SAMPLES: Readonly<Record<Dialect, readonly Sample[]>> = of((dialect) =>
  blocksOf(dialect).flatMap(({ head, body, lines }) => {
    const [, field = '', feature, at = field] = /^(\S+) (\S+)(?: at (\S+))?$/.exec(head) ?? []
    const wire = lines.map((line) => /^(\w+) ?(.*)$/.exec(line)!.slice(1))
    return feature ? [{ field, feature: feature as Feature, body, at, wire: Object.fromEntries(wire) }] : []
  }),
)

/** Files that are texts, as each dialect has them. */
export const TEXT_FILES = of((dialect) => blocksOf(dialect).find(({ head }) => head === 'text-file')!.body)
