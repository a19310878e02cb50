/**
 * /api/operator/catalogue: the versions of the catalogue. Whoever applies one names the version that they have seen.
 */
import { z } from 'zod'
import type { Applied } from '../../shared/catalogue/changes.ts'
import { applyCatalogue, rollBack } from '../../shared/catalogue/changes.ts'
import { diffCatalogues, diffText } from '../../shared/catalogue/diff.ts'
import { BadCatalogue, faultsOf } from '../../shared/catalogue/faults.ts'
import { marginFaults } from '../../shared/catalogue/margins.ts'
import type { PricedCatalogue } from '../../shared/catalogue/margins.ts'
import { privateUpstreams } from '../../shared/catalogue/private-upstreams.ts'
import type { ValidCatalogue } from '../../shared/catalogue/private-upstreams.ts'
import { announceVersion } from '../../shared/catalogue/notice.ts'
import type { StoredVersion } from '../../shared/catalogue/versions.ts'
import { MAX_NOTE, SOURCES, listVersions, readVersion } from '../../shared/catalogue/versions.ts'
import { ApiError } from '../../shared/errors.ts'
import { line } from '../../shared/text-fields.ts'
import { listOf, ok, time } from '../answers.ts'
import { catalogueChanges as changes } from '../catalogue-changes.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint.ts'
import { wholeNumber } from '../fields.ts'
import { operator } from '../who.ts'

/** The most versions of one answer. */
const LISTED = 100

const MAX_VERSION = 2_147_483_647

const declared = { tag: 'Operators', who: operator } as const

const aboutVersion = {
  version: z.int().meta({ description: 'Counts from 1.' }),
  appliedAt: time,
  by: z.string().meta({ description: "The operator's address, `command line`, or `MODELS_FILE`." }),
  note: z.string().nullable(),
  source: z.enum(SOURCES),
}

const versionRecord = z.strictObject(aboutVersion).meta({ id: 'CatalogueVersion' })

const content = z.unknown().meta({ description: 'The content, as it was given.' })

const faults = z.array(z.strictObject({ path: z.string(), message: z.string() }))

const given = z
  .unknown()
  .refine((value) => value !== undefined, 'is required')
  .meta({ description: 'The content of a catalogue (docs/upstreams.md).' })

const why = {
  expect: z
    .int()
    .min(0)
    .max(MAX_VERSION)
    .meta({ description: 'The version that you edited; 0 for none. If another one is current: 409 `conflict`.' }),
  note: line(MAX_NOTE).optional(),
}

const path = { params: z.object({ version: wholeNumber(1, MAX_VERSION) }) } as const

const applied = {
  200: {
    description: 'The version that is now current.',
    schema: z.strictObject({ ok, version: z.int(), changes }),
  },
} as const

type Needed = Pick<WebDeps, 'db' | 'redis' | 'config' | 'catalogue' | 'log'>

/** Shows the current version. */
export const showCatalogue = endpoint({
  ...declared,
  method: 'get',
  path: '/api/operator/catalogue',
  summary: 'Show the catalogue',
  answers: {
    200: { description: 'The current version.', schema: z.strictObject({ ok, ...aboutVersion, catalogue: content }) },
  },
  errors: ['not_found'],
}).handle(({ db }: Pick<WebDeps, 'db'>) => async () => {
  const { content: catalogue, ...about } = found(await readVersion(db, 'newest'))
  return { ok: true, ...about, catalogue }
})

/** Checks a catalogue, and shows what it would change. Changes nothing. */
export const checkCatalogue = endpoint({
  ...declared,
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
        faults: faults.meta({
          description: 'Every mistake, by its path. A catalogue with mistakes cannot be applied.',
        }),
        losses: faults.meta({ description: 'Every cost that exceeds its price.' }),
        warnings: faults.meta({ description: 'Upstreams in a private network that may fetch images by themselves.' }),
        changes,
      }),
    },
  },
  errors: ['invalid_request'],
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ body: { catalogue } }) => {
  const current = await readVersion(db, 'newest')
  const wrong = faultsOf(catalogue)
  const isValid = wrong.length === 0
  return {
    ok: true,
    version: current?.version ?? 0,
    faults: wrong,
    losses: isValid ? marginFaults(catalogue as PricedCatalogue) : [],
    warnings: isValid ? privateUpstreams((catalogue as ValidCatalogue).upstreams) : [],
    changes: isValid ? diffCatalogues(current?.content, catalogue) : [],
  }
})

/** Applies a catalogue as a new version. */
export const applyVersion = endpoint({
  ...declared,
  method: 'post',
  path: '/api/operator/catalogue',
  summary: 'Apply a catalogue',
  description: 'Every process uses it within 2 s. Open calls keep the version at which they were opened.',
  body: z.object({ catalogue: given, ...why }),
  answers: applied,
  errors: ['invalid_request', 'conflict'],
}).handle((deps: Needed) => async ({ who, body: { catalogue, expect, note = null } }) => {
  const application = { content: catalogue, source: 'page', operator: who.userId, note, expect } as const
  return answerOf(deps, await refusing(() => applyCatalogue(deps.db, application)))
})

/** Lists the versions. */
export const showVersions = endpoint({
  ...declared,
  method: 'get',
  path: '/api/operator/catalogue/versions',
  summary: 'List the versions of the catalogue',
  query: z.object({
    before: wholeNumber(1, MAX_VERSION).optional().meta({ description: 'Lists those older than this version.' }),
  }),
  answers: { 200: { description: 'At most 100, newest first.', schema: listOf(versionRecord) } },
  errors: [],
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ query }) => ({
  ok: true,
  data: await listVersions(db, LISTED, query.before),
}))

/** Shows a version, and what it would change if it were rolled back to. */
export const showVersion = endpoint({
  ...declared,
  ...path,
  method: 'get',
  path: '/api/operator/catalogue/versions/:version',
  summary: 'Show a version of the catalogue',
  answers: {
    200: {
      description: 'The version, and what rolling back to it would change.',
      schema: z.strictObject({ ok, ...aboutVersion, catalogue: content, changes }),
    },
  },
  errors: [],
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ params }) => {
  const { content: catalogue, ...about } = found(await readVersion(db, params.version))
  const current = await readVersion(db, 'newest')
  return { ok: true, ...about, catalogue, changes: diffCatalogues(current?.content, catalogue) }
})

/** Applies an earlier version again, as a new one. */
export const rollBackTo = endpoint({
  ...declared,
  ...path,
  method: 'post',
  path: '/api/operator/catalogue/versions/:version/rollback',
  summary: 'Roll the catalogue back',
  description: 'Applies the content of an earlier version as a new one.',
  body: z.object(why),
  answers: applied,
  errors: ['invalid_request', 'conflict'],
}).handle((deps: Needed) => async ({ who, params, body: { expect, note = null } }) => {
  const back = { version: params.version, operator: who.userId, note, expect }
  const done = await refusing(() => rollBack(deps.db, back))
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
 * The answer, once this process uses the version and the others have been notified.
 * @throws ApiError conflict that says what another operator has changed.
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
