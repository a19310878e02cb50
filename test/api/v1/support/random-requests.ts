/**
 * Random requests of hostile clients: bodies with fields that were spoilt, bytes that were mangled, odd headers.
 */
import fc from 'fast-check'

/** A request as it is sent. */
export type Sending = { method: string; path: string; headers: Record<string, string>; body: Buffer | null }

/** Values that no client should send. */
const NASTY = (
  JSON.parse(
    '[null,true,false,0,-1,1.5,1e308,1e21,[],{},[[]],[null],[{}],{"toString":1},{"length":-1},{"url":null},' +
      '[[[[[[[[[]]]]]]]]],9007199254740992]',
  ) as unknown[]
).concat(
  ['', ' ', 'x', '1', 'NaN', '\0', 'a\0b', '\ud800', '😀', '__proto__', 'toString', '\u202e', 'a'.repeat(2001)],
  ["' OR 1=1 --", '<script>', '../../x', '%00'],
)
const TYPES = ['', '; charset=utf-8', '; charset=x', ';;;='].map((more) => `application/json${more}`)
const HEADERS: Record<string, string[]> = {
  'content-type': [...TYPES, 'text/plain', 'multipart/form-data', ';'],
  'content-encoding': ['identity', 'gzip', 'br', 'x', 'gzip, gzip'],
  prefer: 'wait=0|wait=1|wait=999999|wait=99999999999|respond-async|x=y; z, ,|respond-async, wait=1'.split('|'),
  accept: ['text/event-stream', '*/*', 'image/png', 'x'],
  'idempotency-key': ['a', 'b', ' ', 'x'.repeat(255), 'x'.repeat(300)],
  'x-stainless-retry-count': ['0', '1', '-1', 'x', '1e9'],
  'x-request-id': ['a', 'x'.repeat(500), '__proto__', '%0d%0aSet-Cookie: x'],
  traceparent: ['00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', 'x', '00-'],
  authorization: ['Bearer x', 'Bearer', 'Basic x', `Bearer tg_${'0'.repeat(40)}`],
  'x-forwarded-for': ['1.2.3.4', "';--", '::1, x'],
}

/** A value that no client should send. */
export const nasty = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...NASTY) },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 4 }) },
)
/** A short text. */
export const word = fc.string({ maxLength: 12, unit: 'grapheme' })
/** Mostly the first, sometimes the second. */
export const mostly = <T, U>(usual: fc.Arbitrary<T>, odd: fc.Arbitrary<U>, weight = 8): fc.Arbitrary<T | U> =>
  fc.oneof({ weight, arbitrary: usual }, { weight: 1, arbitrary: odd })

/** The text of a body, with fields of these names that are spoilt now and then. */
export const spoilt = (body: fc.Arbitrary<object>, keys: readonly string[]): fc.Arbitrary<string> =>
  fc
    .tuple(
      body,
      mostly(fc.constant([]), fc.array(fc.tuple(fc.constantFrom(...keys), nasty), { minLength: 1, maxLength: 3 }), 1),
    )
    .map(([fields, wrong]) => {
      const text = JSON.stringify(fields)
      // As text, so that __proto__ is a key like any other.
      const more = wrong.map(([key, value]) => `,${JSON.stringify(key)}:${JSON.stringify(value)}`)
      return `${text.slice(0, -1)}${more.join('')}}`
    })

type Path = (string | number)[]

/** The paths to all values in a body. */
const pathsIn = (value: unknown, path: Path = []): Path[] =>
  typeof value === 'object' && value !== null
    ? [path, ...Object.entries(value).flatMap(([name, one]) => pathsIn(one, [...path, name]))]
    : [path]

/** The value with another one at a path. */
function withValue(value: unknown, [first, ...rest]: Path, other: unknown): unknown {
  if (first === undefined) return other
  if (Array.isArray(value)) return value.map((one, at) => (at === Number(first) ? withValue(one, rest, other) : one))
  const fields = value as Record<string, unknown>
  return { ...fields, [first]: withValue(fields[first], rest, other) }
}

/** Bodies for one of the models, of which a value, at any depth, is spoilt now and then. */
export const spoiltWithin = (bodies: fc.Arbitrary<object>, model: fc.Arbitrary<string>): fc.Arbitrary<object> =>
  fc
    .tuple(bodies, model, mostly(fc.constant(null), fc.tuple(fc.nat(), nasty), 1))
    .map(([body, named, wrong]): object => {
      const whole = JSON.parse(JSON.stringify({ ...body, model: named })) as object
      if (wrong === null) return whole
      const paths = pathsIn(whole).slice(1)
      return withValue(whole, paths[wrong[0] % paths.length]!, wrong[1]) as object
    })

/** A body whose bytes were cut off, doubled or overwritten. */
const mangled = (body: fc.Arbitrary<string>): fc.Arbitrary<Buffer> =>
  fc
    .tuple(body, fc.nat(1000), fc.nat(1000), fc.constantFrom('cut', 'double', 'overwrite', 'number'), fc.nat(255))
    .map(([text, at, more, how, byte]) => {
      const bytes = Buffer.from(text)
      const [from, to] = [at % bytes.length, Math.min(bytes.length, (at % bytes.length) + (more % 20) + 1)]
      if (how === 'cut') return Buffer.concat([bytes.subarray(0, from), bytes.subarray(to)])
      if (how === 'double') return Buffer.concat([bytes.subarray(0, to), bytes.subarray(from)])
      if (how === 'number') return Buffer.from(text.replace(/:(true|false|null|-?\d+)/, ':1e309'))
      bytes[from] = byte
      return bytes
    })

const header = fc
  .constantFrom(...Object.keys(HEADERS))
  .chain((name) => fc.constantFrom(...HEADERS[name]!).map((value): [string, string] => [name, value]))
/** Requests of a path with such bodies. */
export const sendingOf = (path: string, body: fc.Arbitrary<string>): fc.Arbitrary<Sending> =>
  fc.record({
    method: mostly(fc.constant('POST'), fc.constantFrom('GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'), 20),
    path: fc.constant(path),
    headers: fc.oneof(
      { weight: 9, arbitrary: fc.constant<Record<string, string>>({}) },
      { weight: 9, arbitrary: fc.array(header, { minLength: 1, maxLength: 2 }).map((all) => Object.fromEntries(all)) },
      { weight: 2, arbitrary: fc.constant<Record<string, string>>({ prefer: 'respond-async' }) },
    ),
    body: fc.oneof(
      { weight: 8, arbitrary: body.map((text) => Buffer.from(text)) },
      { weight: 2, arbitrary: mangled(body) },
      { weight: 1, arbitrary: fc.constant(null) },
    ),
  })
