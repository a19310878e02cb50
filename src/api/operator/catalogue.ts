/**
 * /api/operator/catalogue: the versions of the catalogue. An operator who applies one names the version that they have
 * seen.
 */
import { z } from 'zod'
import type { Applied } from '../../shared/operators/catalogue-changes.ts'
import { applyCatalogue, judgeCatalogue, lostGroups, rollBack } from '../../shared/operators/catalogue-changes.ts'
import { changesUpstreams, diffCatalogues, diffText } from '../../shared/catalogue/diff.ts'
import { BadCatalogue } from '../../shared/catalogue/faults.ts'
import { MASK, maskedCatalogue } from '../../shared/catalogue/header-masks.ts'
import { marginFaults } from '../../shared/catalogue/margins.ts'
import type { PricedCatalogue } from '../../shared/catalogue/margins.ts'
import { announceVersion } from '../../shared/catalogue/holder.ts'
import { warningsOf } from '../../shared/catalogue/parse.ts'
import type { StoredVersion } from '../../shared/catalogue/versions.ts'
import { MAX_NOTE, SOURCES, listVersions, readVersion } from '../../shared/catalogue/versions.ts'
import { ApiError } from '../../shared/platform/errors.ts'
import { line } from '../../shared/platform/text-fields.ts'
import { confirmOwner } from '../../shared/identity/password-changes.ts'
import { hasPassword } from '../../shared/identity/users.ts'
import type { LiveSession } from '../../shared/identity/sessions.ts'
import { listOf, ok, time } from '../endpoint/answer-schemas.ts'
import { byPasswords, ownProof } from '../console/account-fields.ts'
import { catalogueChanges as changes } from './catalogue-changes.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { wholeNumber } from '../endpoint/fields.ts'
import { operator, provenOperator } from '../endpoint/auth.ts'

/** The most versions of one answer. */
const LISTED = 100

const MAX_VERSION = 2_147_483_647

const declared = { tag: 'Operators', auth: operator } as const

const aboutVersion = {
  version: z.int().meta({ description: 'Counts from 1.' }),
  appliedAt: time,
  by: z.string().meta({ description: "The operator's address, `command line`, or `MODELS_FILE`." }),
  note: z.string().nullable(),
  source: z.enum(SOURCES),
}

const versionRecord = z.strictObject(aboutVersion).meta({ id: 'CatalogueVersion' })

const content = z.unknown().meta({
  description:
    `The content, as it was given, but for the values of headers: they are write-only, and \`${MASK}\` here. ` +
    'Applied as it is, it stands for the value that the upstream has.',
})

const needsPassword = z
  .boolean()
  .meta({ description: 'Whether your password is needed: upstreams are new or changed.' })

const listedFaults = z.array(z.strictObject({ path: z.string(), message: z.string() }))

const given = z
  .unknown()
  .refine((value) => value !== undefined, 'is required')
  .meta({ description: 'The content of a catalogue (docs/upstreams/README.md).' })

const why = {
  expect: z
    .int()
    .min(0)
    .max(MAX_VERSION)
    .meta({ description: 'The version that you edited; 0 for none. If another one is current: 409 `conflict`.' }),
  note: line(MAX_NOTE).optional(),
  password: z
    .string({ error: 'must be a string' })
    .optional()
    .meta({ description: 'Your password; needed where upstreams are new or changed, and else not looked at.' }),
}

const path = { params: z.object({ version: wholeNumber(1, MAX_VERSION) }) } as const

const applied = {
  200: {
    description: 'The version that is now current.',
    schema: z.strictObject({ ok, version: z.int(), changes }),
  },
} as const

const APPLYING = ['invalid_request', 'conflict', 'wrong_password', 'overloaded'] as const

type Needed = Pick<WebDeps, 'db' | 'redis' | 'config' | 'catalogue' | 'log' | 'limits'>

/** Shows the current version. */
export const showCatalogue = endpoint({
  ...declared,
  views: 'nobody',
  method: 'get',
  path: '/api/operator/catalogue',
  summary: 'Show the catalogue',
  answers: {
    200: { description: 'The current version.', schema: z.strictObject({ ok, ...aboutVersion, catalogue: content }) },
  },
  errors: ['not_found'],
}).handle(({ db }: Pick<WebDeps, 'db'>) => async () => {
  const { content: catalogue, ...about } = found(await readVersion(db, 'newest'))
  return { ok: true, ...about, catalogue: maskedCatalogue(catalogue) }
})

/** Checks a catalogue, and shows what it would change. Changes nothing. */
export const checkCatalogue = endpoint({
  ...declared,
  views: 'nobody',
  method: 'post',
  path: '/api/operator/catalogue/check',
  summary: 'Check a catalogue',
  description: 'Changes nothing.',
  body: z.object({ catalogue: given }),
  answers: {
    200: {
      description: 'What is wrong with it, and what it would change.',
      schema: z.strictObject({
        ok,
        version: z.int().meta({ description: 'The current version; 0 for none.' }),
        faults: listedFaults.meta({
          description: 'Every mistake, by its path. A catalogue with mistakes cannot be applied.',
        }),
        losses: listedFaults.meta({ description: "Every cost that exceeds its price, or a group's." }),
        warnings: listedFaults.meta({
          description:
            'Keys whose variables have no value, and upstreams in a private network that may fetch images by ' +
            'themselves.',
        }),
        changes,
        needsPassword,
      }),
    },
  },
  errors: ['invalid_request'],
}).handle(({ db, config }: Pick<WebDeps, 'db' | 'config'>) => async ({ body: { catalogue } }) => {
  const current = await readVersion(db, 'newest')
  const judged = judgeCatalogue(catalogue, current?.content)
  const isWhole = judged.faults.length === 0
  const faults = isWhole ? await lostGroups(db, judged.content) : judged.faults
  const isValid = faults.length === 0
  const changed = isValid ? diffCatalogues(current?.content, judged.content) : []
  return {
    ok: true,
    version: current?.version ?? 0,
    faults,
    losses: isValid ? marginFaults(judged.content as PricedCatalogue) : [],
    warnings: isValid ? warningsOf(judged.content, config.secretOf) : [],
    changes: changed,
    needsPassword: changesUpstreams(changed),
  }
})

/** Applies a catalogue as a new version. */
export const applyVersion = endpoint({
  ...declared,
  auth: provenOperator,
  views: 'nobody',
  method: 'post',
  path: '/api/operator/catalogue',
  summary: 'Apply a catalogue',
  description:
    'Every process uses it within 2 s. Open calls keep the version at which they were opened. New or changed ' +
    'upstreams need your password; prices do not.',
  body: z.object({ catalogue: given, ...why }),
  answers: applied,
  errors: APPLYING,
}).handle((deps: Needed) => async ({ auth, body: { catalogue, expect, note = null, password }, request }) => {
  const application = { content: catalogue, source: 'page', operator: auth.userId, note, expect } as const
  const confirmUpstreams = () => confirm(deps, auth, { password, address: request.device().ip })
  return answerOf(deps, await refusing(() => applyCatalogue(deps.db, { ...application, confirmUpstreams })))
})

/** Lists the versions. */
export const showVersions = endpoint({
  ...declared,
  views: 'nobody',
  method: 'get',
  path: '/api/operator/catalogue/versions',
  summary: 'List the versions of the catalogue',
  query: z.object({
    before: wholeNumber(1, MAX_VERSION).optional().meta({ description: 'Lists those older than this version.' }),
  }),
  answers: { 200: { description: 'At most 100, newest first.', schema: listOf(versionRecord) } },
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ query }) => ({
  ok: true,
  data: await listVersions(db, LISTED, query.before),
}))

/** Shows a version, and what it would change if it were rolled back to. */
export const showVersion = endpoint({
  ...declared,
  ...path,
  views: 'nobody',
  method: 'get',
  path: '/api/operator/catalogue/versions/:version',
  summary: 'Show a version of the catalogue',
  answers: {
    200: {
      description: 'The version, and what rolling back to it would change.',
      schema: z.strictObject({ ok, ...aboutVersion, catalogue: content, changes, needsPassword }),
    },
  },
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ params }) => {
  const { content: catalogue, ...about } = found(await readVersion(db, params.version))
  const current = await readVersion(db, 'newest')
  const changed = diffCatalogues(current?.content, catalogue)
  return {
    ok: true,
    ...about,
    catalogue: maskedCatalogue(catalogue),
    changes: changed,
    needsPassword: changesUpstreams(changed),
  }
})

/** Applies an earlier version again, as a new one. */
export const rollBackTo = endpoint({
  ...declared,
  ...path,
  auth: provenOperator,
  views: 'nobody',
  method: 'post',
  path: '/api/operator/catalogue/versions/:version/rollback',
  summary: 'Roll the catalogue back',
  description: 'Applies the content of an earlier version as a new one. Your password as where one is applied.',
  body: z.object(why),
  answers: applied,
  errors: APPLYING,
}).handle((deps: Needed) => async ({ auth, params, body: { expect, note = null, password }, request }) => {
  const back = { version: params.version, operator: auth.userId, note, expect }
  const confirmUpstreams = () => confirm(deps, auth, { password, address: request.device().ip })
  const done = await refusing(() => rollBack(deps.db, { ...back, confirmUpstreams }))
  if (!done) throw new ApiError('not_found')
  return answerOf(deps, done)
})

function found(version: StoredVersion | null): StoredVersion {
  if (!version) throw new ApiError('not_found')
  return version
}

/** @throws ApiError invalid_request that names every fault of a catalogue by its path. */
async function refusing<T>(apply: () => Promise<T>): Promise<T> {
  try {
    return await apply()
  } catch (error) {
    if (error instanceof BadCatalogue) throw new ApiError('invalid_request', { message: error.message })
    throw error
  }
}

/**
 * New and changed upstreams get keys and prompts: a session alone must not lead them elsewhere.
 * @throws ApiError wrong_password, rate_limited, overloaded; proof_required of an operator without a password.
 */
async function confirm(
  { config, db, limits }: Needed,
  auth: LiveSession,
  { password, address }: { password: string | undefined; address: string },
): Promise<void> {
  if (password === undefined && byPasswords(config) && (await hasPassword(db, auth.userId))) {
    const message = 'New or changed upstreams need your password, as password.'
    throw new ApiError('wrong_password', { message, param: 'password' })
  }
  await limits.passwordChanges.take(auth.accountId)
  await confirmOwner(db, auth.userId, ownProof(config, auth, { password }), { address, known: true })
}

/**
 * The answer, once this process uses the version and the others have been notified.
 * @throws ApiError conflict that lists what another operator has changed.
 */
async function answerOf({ redis, config, catalogue, log }: Needed, done: Applied) {
  if (done.is === 'unchanged') return { ok: true as const, version: done.version, changes: [] }
  if (done.is === 'conflict') {
    const what = diffText(done.changes)
    const message = `Version ${done.version} was applied meanwhile by ${done.by || 'nobody'}: ${what || 'no changes'}`
    throw new ApiError('conflict', { message, more: { version: done.version, changes: done.changes } })
  }
  await announceVersion(redis, config.REDIS_PREFIX, done.version).catch((error: unknown) =>
    log.warn({ err: error, version: done.version }, 'new catalogue not announced'),
  )
  await catalogue.refresh()
  return { ok: true as const, version: done.version, changes: done.changes }
}
