/**
 * The gate in front of password hashing: two hashes at once, and a bounded queue that is fair by network. Networks take
 * turns, and where the queue is full the one that has most in it loses its newest. So a flood is refused, and requests
 * from elsewhere are not (docs/accounts-and-mail.md#hashing).
 */
import { ApiError } from '../platform/errors.ts'
import { networksOf } from '../platform/net/networks.ts'

/**
 * Who asks for a hash. `known`: they have shown that they belong to the account: by a session, a mailed link, or a
 * network that has logged in to it before.
 */
export type Sender = { address: string; known: boolean }

/** Concurrent hashes: more than there are cores only costs memory. */
const CONCURRENCY = 2

/** Hashes that may wait, about two seconds of work; the places of those who are known are reserved for them. */
const PLACES = { others: 200, known: 50 } as const

type Waiter = { enter: () => void; refuse: (error: ApiError) => void }

/** Who waits, by the widest network of their address, and in that by the narrowest. */
class Lanes {
  private readonly lanes = new Map<string, Map<string, Waiter[]>>()
  private readonly places: number
  private size = 0

  constructor(places: number) {
    this.places = places
  }

  /** Adds one; beyond the places, the network that has most in the queue loses its latest, which may be this one. */
  add(address: string, waiter: Waiter): void {
    const networks = networksOf(address)
    const [narrow, wide] = [networks[0], networks.at(-1)!]
    const lane = this.lanes.get(wide) ?? new Map<string, Waiter[]>()
    this.lanes.set(wide, lane.set(narrow, [...(lane.get(narrow) ?? []), waiter]))
    if (++this.size > this.places) this.refuseOne()
  }

  /** Takes the first of the network whose turn it is, and puts that network at the end. */
  shift(): Waiter | undefined {
    const [wide, lane] = first(this.lanes)
    if (!lane) return undefined
    const [narrow, waiters] = first(lane)
    const waiter = waiters!.shift()!
    this.lanes.delete(wide)
    lane.delete(narrow)
    if (waiters!.length > 0) lane.set(narrow, waiters!)
    if (lane.size > 0) this.lanes.set(wide, lane)
    this.size--
    return waiter
  }

  private refuseOne(): void {
    const [wide, lane] = largest(this.lanes, (one) => [...one.values()].reduce((sum, { length }) => sum + length, 0))
    const [narrow, waiters] = largest(lane, ({ length }) => length)
    const waiter = waiters.pop()!
    if (waiters.length === 0) lane.delete(narrow)
    if (lane.size === 0) this.lanes.delete(wide)
    this.size--
    waiter.refuse(new ApiError('overloaded', { retryAfterSeconds: 1 }))
  }
}

const first = <V>(map: Map<string, V>): [string, V] | [string, undefined] =>
  map.entries().next().value ?? ['', undefined]

/** The largest, and of several the latest. */
const largest = <V>(map: Map<string, V>, sizeOf: (value: V) => number): [string, V] =>
  [...map].reduce((most, one) => (sizeOf(one[1]) >= sizeOf(most[1]) ? one : most))

const waiting = { known: new Lanes(PLACES.known), others: new Lanes(PLACES.others) }
let running = 0
let turn: keyof typeof waiting = 'known'

/** The next to be hashed: one who is known and one of the others in turn. */
function next(): Waiter | undefined {
  const [now, then] = turn === 'known' ? (['known', 'others'] as const) : (['others', 'known'] as const)
  turn = then
  return waiting[now].shift() ?? waiting[then].shift()
}

/**
 * Enters the queue for hashing before any look-up, so that a refusal reveals nothing about an account.
 * @throws ApiError `overloaded` when too many wait, most of them from the sender's own network.
 */
export async function withHashing<T>({ address, known }: Sender, work: () => Promise<T>): Promise<T> {
  if (running >= CONCURRENCY) {
    await new Promise<void>((enter, refuse) => waiting[known ? 'known' : 'others'].add(address, { enter, refuse }))
  } else {
    running++
  }
  try {
    return await work()
  } finally {
    const waiter = next()
    if (waiter) waiter.enter()
    else running--
  }
}
