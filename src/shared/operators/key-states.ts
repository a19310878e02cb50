/**
 * What is known of the keys of upstreams (docs/upstreams/keys.md#health): one hash in Redis, which every worker has in
 * memory. Without an entry a key is well. If Redis loses its data, only cool-downs are forgotten.
 */
import type { Redis } from 'ioredis'

/** A key of an upstream, or that key for one of the upstream's models. */
export type KeyRef = { upstream: string; key: string; model?: string | undefined }

/** Why a key is not asked. */
export type KeyReason = 'rate_limited' | 'model_not_found' | 'refused' | 'no_credit'

/**
 * The state of a key that has failed. `until`: when it is asked again; after that the state still counts how often it
 * has failed in a row (`times`). `since`: its last failure. All times in Unix ms. `isTested`: a call tests it, and no
 * other takes it until then.
 */
export type KeyState = {
  is: 'cooling' | 'off'
  reason: KeyReason
  until: number
  since: number
  times: number
  isTested?: true
}

/** The states of all keys, by `nameOfKey`. */
export type KeyStates = ReadonlyMap<string, KeyState>

/** The name under which the state of a key is stored. */
export const nameOfKey = ({ upstream, key, model }: KeyRef): string =>
  JSON.stringify(model === undefined ? [upstream, key] : [upstream, key, model])

/** What `nameOfKey` names. */
export function keyOfName(name: string): KeyRef {
  const [upstream, key, model] = JSON.parse(name) as [string, string, string?]
  return { upstream, key, model }
}

/** The state of a key: working, waiting for an end that is known, refused, or switched off by an operator. */
export const STANDINGS = ['ok', 'cooling', 'off', 'disabled'] as const
/** One of them. */
export type Standing = (typeof STANDINGS)[number]

/** A model for which a key has a state of its own. */
export type ModelStanding = { model: string; state: Standing; until: string }

/** The state of a key, its reason, and until when; and the models for which it has a state of its own. */
export type KeyStanding = { state: Standing; reason: string | null; until: string | null; models: ModelStanding[] }

/**
 * How a key stands at a moment. One that is off is off until a call has succeeded; one with a model that cools down is
 * cooling.
 * @param now Unix ms
 */
export function standingOf(
  { upstream, key }: KeyRef,
  states: KeyStates,
  disabled: ReadonlySet<string>,
  now: number,
): KeyStanding {
  const whole = states.get(nameOfKey({ upstream, key }))
  const cooling = [...states].flatMap(([name, state]): (KeyState & { model: string })[] => {
    const ref = keyOfName(name)
    const isOwn = ref.upstream === upstream && ref.key === key
    return isOwn && ref.model !== undefined && state.until > now ? [{ ...state, model: ref.model }] : []
  })
  const models = cooling.map(({ model, is: state, until }) => ({ model, state, until: new Date(until).toISOString() }))
  if (disabled.has(nameOfKey({ upstream, key }))) return { state: 'disabled', reason: 'disabled', until: null, models }
  const worst = whole ?? cooling.toSorted((a, b) => b.until - a.until)[0]
  if (!worst) return { state: 'ok', reason: null, until: null, models }
  return { state: worst.is, reason: worst.reason, until: new Date(worst.until).toISOString(), models }
}

/** How long states outlive the last failure of any key, in ms. */
const FORGOTTEN_AFTER_MS = 12 * 3_600_000

const hashOf = (prefix: string): string => `${prefix}:upstream-keys`

/** Of two deadlines the later one applies. Returns 1 if there was no state before. */
const NOTE = `
local before = redis.call('HGET', KEYS[1], ARGV[1])
if before and cjson.decode(before)['until'] >= tonumber(ARGV[3]) then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('PEXPIRE', KEYS[1], ${FORGOTTEN_AFTER_MS})
redis.call('PUBLISH', KEYS[1], '')
return before and 0 or 1`

/** A success ends what was known before it began. */
const FORGET = `
for at = 2, #ARGV do
  local before = redis.call('HGET', KEYS[1], ARGV[at])
  if before and cjson.decode(before)['since'] <= tonumber(ARGV[1]) then redis.call('HDEL', KEYS[1], ARGV[at]) end
end
redis.call('PUBLISH', KEYS[1], '')`

/** Reads all states. @throws what Redis does */
export async function readKeyStates(redis: Redis, prefix: string): Promise<KeyStates> {
  const stored = await redis.hgetall(hashOf(prefix))
  return new Map(Object.entries(stored).map(([name, state]) => [name, JSON.parse(state) as KeyState]))
}

/** Notes the state of a key for every worker. @returns whether it was well before. @throws what Redis does */
export const noteKeyState = async (redis: Redis, prefix: string, name: string, state: KeyState): Promise<boolean> =>
  (await redis.eval(NOTE, 1, hashOf(prefix), name, JSON.stringify(state), state.until)) === 1

/** Ends the states of keys that failed at `before` (Unix ms) or earlier, for every worker. @throws what Redis does */
export async function forgetKeyStates(
  redis: Redis,
  prefix: string,
  names: readonly string[],
  before: number,
): Promise<void> {
  await redis.eval(FORGET, 1, hashOf(prefix), before, ...names)
}

/** Ends all states of a key, also those for its models, for every worker. @throws what Redis does */
export async function forgetKey(redis: Redis, prefix: string, { upstream, key }: KeyRef): Promise<void> {
  const names = [...(await readKeyStates(redis, prefix)).keys()].filter((name) => {
    const ref = keyOfName(name)
    return ref.upstream === upstream && ref.key === key
  })
  await forgetKeyStates(redis, prefix, names, Date.now())
}

/** Has every worker read the states, and what operators have switched off, again. @throws what Redis does */
export async function announceKeys(redis: Redis, prefix: string): Promise<void> {
  await redis.publish(hashOf(prefix), '')
}

/** Calls `onNotice` when a state has changed, and whenever the connection is there again: a notice may be lost. */
export function listenForKeys(subscriber: Redis, prefix: string, onNotice: () => void): void {
  subscriber.on('message', (channel: string) => {
    if (channel === hashOf(prefix)) onNotice()
  })
  subscriber.on('ready', onNotice)
  subscriber.subscribe(hashOf(prefix)).catch(() => {})
}
