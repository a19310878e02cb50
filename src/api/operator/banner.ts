/**
 * /api/banner and /api/operator/banner: the notice above every page of the console.
 */
import { z } from 'zod'
import { newId } from '../../shared/platform/ids.ts'
import { cachedReading } from '../../shared/platform/process/cached.ts'
import { LEVELS, MAX_BANNER_TEXT, findBanner, removeBanner, setBanner } from '../../shared/operators/banners.ts'
import { label } from '../../shared/platform/text-fields.ts'
import { done, id, ok, time } from '../endpoint/answer-schemas.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { moment, startOf } from '../endpoint/fields.ts'
import { fieldRefusal } from '../../shared/platform/field-errors.ts'
import { operator } from '../endpoint/auth.ts'

/** How long a process caches what it read, in ms: every page asks for it repeatedly. */
const CACHE_MS = 5000

const level = z.enum(LEVELS, { error: `must be one of ${LEVELS.join(', ')}` })

const banner = z.strictObject({ id: id('banner'), text: z.string(), level, from: time, until: time.nullable() })

const bannerAnswer = z.strictObject({ ok, banner: banner.nullable() }).meta({ id: 'BannerAnswer' })

const site = z
  .strictObject({
    name: z.string().meta({ description: '`OPERATOR_NAME`.' }),
    logo: z.string().nullable().meta({ description: '`OPERATOR_LOGO_URL`.' }),
    publicCatalogue: z.boolean().meta({ description: 'Whether visitors see the models and their prices.' }),
  })
  .meta({ id: 'Site' })

const siteOf = ({ OPERATOR_NAME, OPERATOR_LOGO_URL, PUBLIC_CATALOGUE }: WebDeps['config']): z.input<typeof site> => ({
  name: OPERATOR_NAME,
  logo: OPERATOR_LOGO_URL ?? null,
  publicCatalogue: PUBLIC_CATALOGUE === 'on',
})

/** Shows everybody the banner of this moment, and whose service this is. */
export const showBanner = endpoint({
  tag: 'Service',
  auth: null,
  method: 'get',
  path: '/api/banner',
  summary: 'The banner of the console, and whose it is',
  answers: {
    200: {
      description: 'The banner that is to be shown now (null: none), and whose service this is.',
      schema: z.strictObject({ ok, banner: banner.nullable(), site }),
    },
  },
  errors: ['service_unavailable', 'internal_error'],
}).handle(({ db, config }: Pick<WebDeps, 'db' | 'config'>) => {
  const current = cachedReading({ forMs: CACHE_MS }, () => findBanner(db))
  return async () => {
    const found = await current()
    const now = new Date().toISOString()
    const isShown = found && found.from <= now && (found.until === null || found.until > now)
    return { ok: true, banner: isShown ? found : null, site: siteOf(config) }
  }
})

const declared = { tag: 'Operators', auth: operator, path: '/api/operator/banner' } as const

/** Shows operators the banner that is set. */
export const showTheBanner = endpoint({
  ...declared,
  views: 'nobody',
  method: 'get',
  summary: 'Show the banner that is set',
  answers: { 200: { description: 'It may be still to come; null: none is set.', schema: bannerAnswer } },
}).handle(({ db }: Pick<WebDeps, 'db'>) => async () => ({ ok: true, banner: await findBanner(db) }))

const when = moment.nullish().transform((text) => (text ? startOf(text) : null))

/** Sets the banner. */
export const changeBanner = endpoint({
  ...declared,
  views: 'nobody',
  method: 'put',
  summary: 'Set the banner',
  description: 'In place of the one before. The pages that are open show it within about a minute.',
  body: z
    .object({
      text: label(MAX_BANNER_TEXT),
      level: level.default('info'),
      from: when.meta({ description: 'From when on it is shown; at once if absent.' }),
      until: when.meta({ description: 'Until when; until it is removed if absent.' }),
    })
    .meta({ id: 'BannerRequest' }),
  answers: { 200: { description: 'The banner is set.', schema: bannerAnswer } },
  errors: ['invalid_request'],
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ auth, body }) => {
  const { from, until } = body
  if (until && until.getTime() <= Math.max(Date.now(), from?.getTime() ?? 0)) {
    throw fieldRefusal('until', 'must be in the future, and after from')
  }
  await setBanner(db, auth.userId, { ...body, id: newId('banner'), text: body.text.trim() })
  return { ok: true, banner: await findBanner(db) }
})

/** Removes the banner. */
export const removeTheBanner = endpoint({
  ...declared,
  views: 'nobody',
  method: 'delete',
  summary: 'Remove the banner',
  answers: { 200: { description: 'There is no banner any more.', schema: done } },
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ auth }) => {
  await removeBanner(db, auth.userId)
  return { ok: true }
})
