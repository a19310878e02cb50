import fc from 'fast-check'
import type { Tokens } from '../../../src/shared/terms/pricing.ts'
import { MODALITIES } from '../../../src/shared/terms/kinds.ts'
import type { Modality } from '../../../src/shared/terms/kinds.ts'
import type { FailureKind } from '../../../src/workers/upstreams/adapter.ts'
import { DIALECTS } from '../../../src/shared/chat/dialect.ts'
import type { Dialect } from '../../../src/shared/chat/dialect.ts'
import type { Limits, TokenLimits } from '../simulation/accounts.ts'
import type { EnqueueFate } from '../simulation/dispatch.ts'

/** What a client asks for. Numbers such as `who` and `key` are indexes, modulo the number of choices. */
export type Ask = {
  auth: number
  modality: Modality
  /** That of a chat. */
  dialect: Dialect
  stream: boolean
  /** With the second key of the account. */
  second: boolean
  /** Of the dearer kind: several pictures, a longer video or text. */
  large: boolean
  /** Requests with the same key and kind are one call. */
  key: number | null
  failures: FailureKind[]
  usage: Tokens | null
  long: boolean
  polls: number
  missing: number
  breaksAfter: number | null
  taskFails: boolean
}

/** One move of a schedule: something happens, or a waiting effect is released. */
export type Move =
  | { do: 'go'; places: number[] }
  | { do: 'ask'; asks: Ask[] }
  | { do: 'deliver'; jobs: number; worker: number }
  | { do: 'lapse' | 'again' | 'leave' | 'delete' | 'overdue look'; which: number }
  | { do: 'die'; side: 'web' | 'worker'; which: number; places: number[] }
  | { do: 'stop worker' | 'reconcile' | 'cut wire'; which: number }
  | { do: 'flush' | 'mend wire' | 'sweep grants' | 'change prices' | 'audit' }
  | { do: 'pass'; seconds: number; deadlines: boolean }
  | { do: 'enqueue'; fate: EnqueueFate }
  | { do: 'grant' | 'deduct' | 'expire grant'; auth: number; amount: number }
  | { do: 'revoke key' | 'pass edge' | 'pass minute' | 'regroup'; auth: number }

/** A simulation and what happens in it. `grouped`: which of its accounts begin in a group. */
export type Schedule = {
  /** How many keys its upstream has. */
  keys: number
  grants: number[][]
  limits: (Limits | null)[]
  tokens: TokenLimits[]
  grouped: boolean[]
  moves: Move[]
}

/** Plain objects, so that a failing schedule is readable. */
const record = <T>(fields: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> =>
  fc.record(fields, { noNullPrototype: true }) as fc.Arbitrary<T>

const small = fc.nat({ max: 40 })
const places = fc.array(small, { minLength: 1, maxLength: 5, size: 'max' })

const failure = fc.constantFrom<FailureKind>(
  'not_sent',
  'rate_limited',
  'not_served',
  'overloaded',
  'unknown',
  'rejected',
)

/**
 * Tokens that an upstream reports. Some cost more than the charge, and perhaps more than the balance, which leaves
 * debt; and some cannot be true.
 */
const usage: fc.Arbitrary<Tokens> = fc.oneof(
  { weight: 5, arbitrary: record({ input: fc.nat({ max: 60 }), output: fc.nat({ max: 60 }) }) },
  {
    weight: 2,
    arbitrary: record({
      input: fc.nat({ max: 20 }),
      cached: fc.nat({ max: 100 }),
      written: fc.nat({ max: 20 }),
      output: fc.nat({ max: 60 }),
    }),
  },
  {
    weight: 2,
    arbitrary: record({ input: fc.integer({ min: 40, max: 150 }), output: fc.integer({ min: 20, max: 45 }) }),
  },
)

const ask: fc.Arbitrary<Ask> = record({
  auth: small,
  // Most can happen to chats, then to images, videos and sound.
  modality: fc.constantFrom<Modality>(...MODALITIES, 'chat', 'chat', 'image', 'video', 'speech', 'transcription'),
  dialect: fc.constantFrom(...DIALECTS),
  stream: fc.boolean(),
  second: fc.boolean(),
  large: fc.integer({ min: 0, max: 3 }).map((n) => n === 0),
  key: fc.option(fc.nat({ max: 2 }), { freq: 2 }),
  failures: fc.oneof(
    { weight: 3, arbitrary: fc.constant<FailureKind[]>([]) },
    { weight: 1, arbitrary: fc.array(failure, { minLength: 1, maxLength: 3 }) },
    // As long as it takes for the next model of a list.
    { weight: 1, arbitrary: failure.map((one) => [one, one, one]) },
  ),
  usage: fc.option(usage, { freq: 4 }),
  long: fc.integer({ min: 0, max: 4 }).map((n) => n === 0),
  polls: fc.nat({ max: 2 }),
  missing: fc.integer({ min: -1, max: 2 }),
  breaksAfter: fc.option(fc.nat({ max: 2 }), { freq: 2 }),
  taskFails: fc.integer({ min: 0, max: 5 }).map((n) => n === 0),
})

const one = <D extends string>(name: D) => record({ do: fc.constant(name), which: small })

const edge: fc.Arbitrary<Move> = record({ do: fc.constant('pass edge' as const), auth: small })

const regrouping: fc.Arbitrary<Move> = record({ do: fc.constant('regroup' as const), auth: small })

const minute: fc.Arbitrary<Move> = record({ do: fc.constant('pass minute' as const), auth: small })

const revocation: fc.Arbitrary<Move> = record({ do: fc.constant('revoke key' as const), auth: small })

const usual: fc.Arbitrary<Move> = fc.oneof(
  { weight: 40, arbitrary: record({ do: fc.constant('go' as const), places }) },
  {
    weight: 14,
    arbitrary: record({ do: fc.constant('ask' as const), asks: fc.array(ask, { minLength: 1, maxLength: 3 }) }),
  },
  {
    weight: 18,
    arbitrary: record({ do: fc.constant('deliver' as const), jobs: fc.integer({ min: 1, max: 3 }), worker: small }),
  },
  { weight: 3, arbitrary: one('lapse' as const) },
  { weight: 3, arbitrary: one('again' as const) },
  { weight: 2, arbitrary: one('leave' as const) },
  { weight: 2, arbitrary: one('delete' as const) },
  { weight: 1, arbitrary: one('overdue look' as const) },
  {
    weight: 6,
    arbitrary: record({
      do: fc.constant('die' as const),
      side: fc.constantFrom('web' as const, 'worker' as const, 'worker' as const),
      which: small,
      places: fc.array(small, { maxLength: 3, size: 'max' }),
    }),
  },
  { weight: 1, arbitrary: one('stop worker' as const) },
  { weight: 3, arbitrary: edge },
  { weight: 2, arbitrary: regrouping },
  { weight: 3, arbitrary: minute },
  { weight: 4, arbitrary: one('reconcile' as const) },
  { weight: 1, arbitrary: one('cut wire' as const) },
  {
    weight: 1,
    arbitrary: record({
      do: fc.constantFrom(
        'flush' as const,
        'mend wire' as const,
        'sweep grants' as const,
        'change prices' as const,
        'audit' as const,
      ),
    }),
  },
  {
    weight: 3,
    arbitrary: record({
      do: fc.constant('pass' as const),
      seconds: fc.constantFrom(7, 12, 21),
      deadlines: fc.integer({ min: 0, max: 3 }).map((n) => n === 0),
    }),
  },
  {
    weight: 2,
    arbitrary: record({
      do: fc.constant('enqueue' as const),
      fate: fc.constantFrom<EnqueueFate>('taken', 'taken', 'acknowledgement lost', 'refused'),
    }),
  },
  {
    weight: 1,
    arbitrary: record({
      do: fc.constantFrom('grant' as const, 'deduct' as const, 'expire grant' as const),
      auth: small,
      amount: fc.oneof(fc.integer({ min: 1, max: 120 }), fc.integer({ min: 1000, max: 5000 })),
    }),
  },
)

// Rare, since little can happen to an account without a key.
const move: fc.Arbitrary<Move> = fc.oneof({ weight: 400, arbitrary: usual }, { weight: 1, arbitrary: revocation })

const grants = fc.array(fc.oneof(fc.integer({ min: 1, max: 150 }), fc.integer({ min: 200, max: 1500 })), {
  minLength: 1,
  maxLength: 3,
})

/** Budgets of keys and of their member: most are spent within a schedule. */
const limits: fc.Arbitrary<Limits> = record({
  period: fc.constantFrom('day', 'week', 'month', 'total'),
  credits: fc.array(fc.integer({ min: 30, max: 600 }), { minLength: 0, maxLength: 2, size: 'max' }),
  member: fc.option(fc.integer({ min: 30, max: 900 }), { freq: 2 }),
})

/** Tokens a minute: enough for a few chats, of which each reserves about 60. */
const tokens: fc.Arbitrary<TokenLimits> = record({
  account: fc.option(fc.integer({ min: 60, max: 400 }), { freq: 2 }),
  key: fc.option(fc.integer({ min: 60, max: 200 }), { freq: 2 }),
})

/**
 * Schedules of one or two accounts and up to 26 moves. They begin with a few requests, so that there is something to
 * disturb.
 */
export const schedules: fc.Arbitrary<Schedule> = record({
  keys: fc.constantFrom(1, 3),
  grants: fc.array(grants, { minLength: 1, maxLength: 2 }),
  limits: fc.array(fc.option(limits, { freq: 2 }), { minLength: 2, maxLength: 2, size: 'max' }),
  tokens: fc.array(tokens, { minLength: 2, maxLength: 2, size: 'max' }),
  grouped: fc.array(fc.boolean(), { minLength: 2, maxLength: 2, size: 'max' }),
  first: fc.array(ask, { minLength: 2, maxLength: 5, size: 'max' }),
  moves: fc.array(move, { minLength: 8, maxLength: 26, size: 'max' }),
}).map(({ first, moves, ...accounts }) => ({ ...accounts, moves: [{ do: 'ask', asks: first }, ...moves] }))
