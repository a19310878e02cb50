import fc from 'fast-check'
import type { Tokens } from '../../../src/shared/terms/pricing.ts'
import { MODALITIES } from '../../../src/shared/terms/kinds.ts'
import type { Modality } from '../../../src/shared/terms/kinds.ts'
import type { FailureKind } from '../../../src/workers/upstreams/adapter.ts'
import { DIALECTS } from '../../../src/shared/chat/dialect.ts'
import type { Dialect } from '../../../src/shared/chat/dialect.ts'
import type { Limits, TokenLimits } from '../simulation/accounts.ts'
import type { EnqueueFate } from '../simulation/dispatch.ts'
import type { Manner } from '../simulation/upstream.ts'
import { oneOf, record } from '../simulator.ts'

/** What a client asks for. Numbers such as `auth` and `key` are indexes, modulo the number of choices. */
export type Ask = Manner & {
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
}

/** One move of a schedule: something happens, or a waiting effect is released. */
export type Move =
  | { do: 'go'; places: number[] }
  | { do: 'ask'; asks: Ask[] }
  | { do: 'deliver'; jobs: number; worker: number }
  | { do: 'die'; side: 'web' | 'worker'; which: number; places: number[] }
  | {
      do: 'lapse' | 'again' | 'leave' | 'delete' | 'overdue look' | 'stop worker' | 'reconcile' | 'cut wire'
      which: number
    }
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

const small = fc.nat({ max: 40 })
const places = fc.array(small, { minLength: 1, maxLength: 5, size: 'max' })
const fewPlaces = fc.array(small, { maxLength: 3, size: 'max' })
const amount = fc.oneof(fc.integer({ min: 1, max: 120 }), fc.integer({ min: 1000, max: 5000 }))
const oneIn = (times: number) => fc.nat({ max: times - 1 }).map((n) => n === 0)

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
  large: oneIn(4),
  key: fc.option(fc.nat({ max: 2 }), { freq: 2 }),
  failures: fc.oneof(
    { weight: 3, arbitrary: fc.constant<FailureKind[]>([]) },
    { weight: 1, arbitrary: fc.array(failure, { minLength: 1, maxLength: 3 }) },
    // As long as it takes for the next model of a list.
    { weight: 1, arbitrary: failure.map((one) => [one, one, one]) },
  ),
  usage: fc.option(usage, { freq: 4 }),
  long: oneIn(5),
  polls: fc.nat({ max: 2 }),
  missing: fc.integer({ min: -1, max: 2 }),
  breaksAfter: fc.option(fc.nat({ max: 2 }), { freq: 2 }),
  taskFails: oneIn(6),
})

const usual = oneOf<Move>(
  [40, ['go'], { places }],
  [14, ['ask'], { asks: fc.array(ask, { minLength: 1, maxLength: 3 }) }],
  [18, ['deliver'], { jobs: fc.integer({ min: 1, max: 3 }), worker: small }],
  [6, ['lapse', 'again'], { which: small }],
  [4, ['leave', 'delete'], { which: small }],
  [3, ['overdue look', 'stop worker', 'cut wire'], { which: small }],
  [4, ['reconcile'], { which: small }],
  [6, ['die'], { side: fc.constantFrom('web', 'worker', 'worker'), which: small, places: fewPlaces }],
  [6, ['pass edge', 'pass minute'], { auth: small }],
  [2, ['regroup'], { auth: small }],
  [1, ['flush', 'mend wire', 'sweep grants', 'change prices', 'audit'], {}],
  [3, ['pass'], { seconds: fc.constantFrom(7, 12, 21), deadlines: oneIn(4) }],
  [2, ['enqueue'], { fate: fc.constantFrom<EnqueueFate>('taken', 'taken', 'acknowledgement lost', 'refused') }],
  [1, ['grant', 'deduct', 'expire grant'], { auth: small, amount }],
)

// Rare, since little can happen to an account without a key.
const revocation = oneOf<Move>([1, ['revoke key'], { auth: small }])
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
