/**
 * Random texts and JSON values of request bodies, for fast-check.
 */
import fc from 'fast-check'

/** The bytes of a picture. */
export const IMAGE_BYTES = 'iVBORw0KGgoA'.repeat(300)
/** A picture as a `data:` URI. */
export const PICTURE = `data:image/png;base64,${IMAGE_BYTES}`

/** Texts that count differently in characters, in bytes and as JSON. */
const UNITS = [
  'x',
  'word ',
  'é',
  '你好',
  '😀',
  '"',
  '\\',
  '\n',
  '\u0001',
  '\ud800',
  '</>',
  '1e20,',
  `data:text/plain;base64,${'A'.repeat(80)}`,
  'http://example.com/',
]
const times = fc.oneof(
  { weight: 100, arbitrary: fc.nat(3) },
  { weight: 20, arbitrary: fc.nat(100) },
  { weight: 1, arbitrary: fc.nat(20_000) },
)
/** A text, mostly short, seldom of up to 40,000 bytes. */
export const text = fc
  .tuple(fc.constantFrom(...UNITS), times)
  .map(([unit, count]) => unit.repeat(Math.min(count, Math.floor(40_000 / unit.length))))
/** A name or an id. */
export const word = fc.oneof(fc.constantFrom('', 'f', 'g'), text)
/** Any JSON value, also such as look like pictures or grow when they are written anew. */
export const json = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  text,
  fc.array(fc.constantFrom(1e20, 1.5e-7, 0.1, -0, 1), { maxLength: 50 }),
  text.map((value) => ({ default: { url: `data:text/plain;base64,${value}` }, image_url: { url: PICTURE } })),
)
/** An object of them. */
export const schema = fc.dictionary(word, json, { maxKeys: 3 })
/** A value, or its absence now and then. */
export const often = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined, freq: 3 })
/** A value now and then, or null. */
export const now = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined | null> =>
  fc.oneof(
    { weight: 8, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constant(null) },
    { weight: 2, arbitrary },
  )
/** A cache mark, seldom. */
export const cached = now(fc.constant({ type: 'ephemeral' }))
/** A name of a tool. */
export const name = word.map((one) => one.slice(0, 100) || 'f')
/** One of these fields, in so many of ten bodies. */
export const seldom = (fields: Record<string, fc.Arbitrary<unknown>>, weight: number): fc.Arbitrary<object> =>
  fc.oneof(
    { weight: 10 - weight, arbitrary: fc.constant({}) },
    {
      weight,
      arbitrary: fc
        .constantFrom(...Object.keys(fields))
        .chain((key) => fields[key]!.map((value) => ({ [key]: value }))),
    },
  )
