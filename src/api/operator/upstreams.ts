/**
 * /api/operator/upstreams: the upstreams and their keys.
 */
import { z } from 'zod'
import type { Redis } from 'ioredis'
import { checkKey } from '../../shared/operators/key-check.ts'
import type { KnownKeys } from '../../shared/operators/upstreams.ts'
import { readUpstreamCalls, reportUpstreams } from '../../shared/operators/upstreams.ts'
import { STANDINGS, announceKeys, forgetKey, nameOfKey, readKeyStates } from '../../shared/operators/key-states.ts'
import type { KeyName } from '../../shared/operators/upstream-keys.ts'
import { disableKey, disabledKeys, enableKey, recordKeyTest } from '../../shared/operators/upstream-keys.ts'
import { ApiError } from '../../shared/platform/errors.ts'
import { cachedReading } from '../../shared/platform/process/cached.ts'
import { done, id, listOf, ok, time } from '../endpoint/answer-schemas.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { operator } from '../endpoint/auth.ts'
import { attempt } from './answers.ts'

const declared = { tag: 'Operators', auth: operator, views: 'nobody' } as const

/** How long the figures of calls are cached, in ms: operators who read at the same time, or reload, cost one. */
const CACHE_MS = 10_000

const state = z.enum(STANDINGS)

const keyReport = z
  .strictObject({
    name: z.string(),
    variable: z.string().nullable().meta({ description: 'The environment variable that has it; null: it needs none.' }),
    configured: z.boolean().meta({ description: 'Whether its variable has a value in this process.' }),
    state: state.meta({
      description: '`off`: refused, or without credit, until a call succeeds. `disabled`: by an operator.',
    }),
    reason: z.string().nullable(),
    until: time.nullable().meta({ description: 'When it is asked again.' }),
    models: z.array(z.strictObject({ model: z.string(), state, until: time })).meta({
      description: "Models of the upstream, by the upstream's names, for which the key is not asked now.",
    }),
    calls: z.int().meta({ description: 'Requests with it in calls that ended in the last hour.' }),
    failures: z.int().meta({ description: 'How many of them failed.' }),
  })
  .meta({ id: 'UpstreamKey' })

const upstreamReport = z
  .strictObject({
    upstream: z.string().meta({ description: '`(none)`: calls that failed before any upstream was asked.' }),
    calls: z.int().meta({ description: 'Calls that ended in the last hour.' }),
    failed: z.int(),
    latencyMs: z.int().nullable().meta({ description: 'Their median time, in milliseconds.' }),
    lastCallAt: time.nullable(),
    openedAt: time.nullable().meta({ description: 'When a circuit last opened, within the last 24 hours.' }),
    hours: z
      .array(
        z.strictObject({
          hour: time,
          calls: z.int().meta({ description: 'Calls accepted in this hour that have ended.' }),
          failed: z.int(),
          openings: z.int().meta({ description: 'How often circuits opened, all workers together.' }),
        }),
      )
      .meta({ description: 'The last 24 hours, oldest first.' }),
    keys: z.array(keyReport).meta({ description: 'Its keys in the catalogue; the figures of calls are per key.' }),
    failures: z.array(attempt.extend({ call: id('call') }).meta({ id: 'FailedAttempt' })).meta({
      description: 'The newest failed requests to it, of the last 200 calls that had any; seven days at most.',
    }),
  })
  .meta({ id: 'UpstreamReport' })

type Needed = Pick<WebDeps, 'db' | 'redis' | 'config' | 'catalogue'>

/** Shows how the upstreams did in the last hour, hour by hour in the last day, and how their keys are. */
export const showUpstreams = endpoint({
  ...declared,
  method: 'get',
  path: '/api/operator/upstreams',
  summary: 'Show the health of upstreams and their keys',
  description: 'Figures of calls may be 10 seconds old. While Redis is unreachable no key is shown as cooling or off.',
  answers: {
    200: {
      description: 'Every upstream of the catalogue, and others that had calls in the last 24 hours.',
      schema: listOf(upstreamReport),
    },
  },
  errors: ['service_unavailable'],
}).handle((deps: Needed) => {
  const calls = cachedReading({ forMs: CACHE_MS }, () => readUpstreamCalls(deps.db))
  return async () => {
    const [known, figures] = await Promise.all([knownKeys(deps), calls()])
    return { ok: true, data: reportUpstreams(figures, known) }
  }
})

async function knownKeys({ db, redis, config, catalogue }: Needed): Promise<KnownKeys> {
  const [states, disabled] = await Promise.all([
    readKeyStates(redis, config.REDIS_PREFIX).catch(() => new Map()),
    disabledKeys(db),
  ])
  return { pools: catalogue.current().pools, states, disabled: new Set(disabled.map(nameOfKey)) }
}

const ofKey = {
  ...declared,
  method: 'post',
  params: z.object({
    upstream: z.string().meta({ description: 'The name of an upstream of the catalogue.' }),
    key: z.string().meta({ description: 'The name of one of its keys.' }),
  }),
  body: 'ignored',
  errors: ['not_found', 'service_unavailable'],
} as const

/** @throws ApiError not_found for a key that is not in the catalogue */
function requireKey({ catalogue }: Pick<WebDeps, 'catalogue'>, { upstream, key }: KeyName): void {
  const keys = catalogue.current().pools.get(upstream) ?? []
  if (!keys.some(({ name }) => name === key)) throw new ApiError('not_found')
}

/** Has the workers know at once. They read the switches every few seconds anyway. */
const announced = (redis: Redis, prefix: string): Promise<void> => announceKeys(redis, prefix).catch(() => {})

/** Switches a key off. */
export const disableUpstreamKey = endpoint({
  ...ofKey,
  path: '/api/operator/upstreams/:upstream/keys/:key/disable',
  summary: 'Disable a key of an upstream',
  description: 'It is asked for nothing new until it is enabled. Tasks that it has made are still polled with it.',
  answers: { 200: { description: 'The key is disabled.', schema: done } },
}).handle((deps: Needed) => async ({ auth, params }) => {
  requireKey(deps, params)
  await disableKey(deps.db, auth.userId, params)
  await announced(deps.redis, deps.config.REDIS_PREFIX)
  return { ok: true }
})

/** Switches a key on, and forgets its failures. */
export const enableUpstreamKey = endpoint({
  ...ofKey,
  path: '/api/operator/upstreams/:upstream/keys/:key/enable',
  summary: 'Enable a key of an upstream',
  description: 'Also one that is off or cooling down: it is asked again at once.',
  answers: { 200: { description: 'The key is enabled.', schema: done } },
}).handle((deps: Needed) => async ({ auth, params }) => {
  requireKey(deps, params)
  await enableKey(deps.db, auth.userId, params)
  await forgetKey(deps.redis, deps.config.REDIS_PREFIX, params).catch(() => {})
  return { ok: true }
})

/** How long a test of a key may take, in ms. */
const TEST_MS = 10_000

/** Asks an upstream whether it takes a key. */
export const testUpstreamKey = endpoint({
  ...ofKey,
  path: '/api/operator/upstreams/:upstream/keys/:key/test',
  summary: 'Test a key of an upstream',
  description: 'Requests the list of models, or what else costs nothing there. Changes nothing about the key.',
  answers: {
    200: {
      description: "The upstream's answer.",
      schema: z.strictObject({
        ok,
        status: z
          .int()
          .nullable()
          .meta({ description: 'Of HTTP; null if it did not answer, or has no such key here.' }),
        ms: z.int(),
        says: z.string().meta({ description: 'What that means.' }),
      }),
    },
  },
}).handle((deps: Needed) => async ({ auth, params }) => {
  requireKey(deps, params)
  const upstream = deps.catalogue.current().upstreams.find(({ name }) => name === params.upstream)
  const key = upstream?.keys.find(({ name }) => name === params.key)
  const startedAt = performance.now()
  const { status, says } =
    upstream && key
      ? await checkKey({ ...upstream, apiKey: key.secret }, TEST_MS)
      : { status: null, says: 'is not configured: its variable has no value' }
  await recordKeyTest(deps.db, auth.userId, { ...params, status })
  return { ok: true, status, ms: Math.round(performance.now() - startedAt), says }
})
