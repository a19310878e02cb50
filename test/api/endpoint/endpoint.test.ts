import Router from '@koa/router'
import { expect } from 'chai'
import Koa from 'koa'
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { z } from 'zod'
import type { Endpoint } from '../../../src/api/endpoint/declaration.ts'
import { Reply } from '../../../src/api/endpoint/declaration.ts'
import type { WebDeps } from '../../../src/api/deps.ts'
import { BodyMemory, bodyBounds } from '../../../src/api/server/body-memory.ts'
import { LargeBodies, waitingBounds } from '../../../src/api/endpoint/large-body-queue.ts'
import { endpoint } from '../../../src/api/endpoint/endpoint.ts'
import { UNDECLARED, errorHandler } from '../../../src/api/middleware/error-handler.ts'
import type { RequestState } from '../../../src/api/middleware/request-context.ts'
import { pathId } from '../../../src/api/endpoint/fields.ts'
import { ApiError } from '../../../src/shared/platform/errors.ts'
import { newId, publicId } from '../../../src/shared/platform/ids.ts'
import { get, send } from '../../../scripts/harness/http.ts'
import { readableLog } from '../../support/log-lines.ts'

/** What was checked of the current request, in order. */
let steps: string[] = []

const counted = (name: string) => ({
  take: async () => {
    steps.push(name)
    return { limit: 1, remaining: 1, resetSeconds: 1 }
  },
})

const deps = {
  config: { TRUST_PROXY: 0 },
  bodyMemory: new BodyMemory(bodyBounds(0)),
  largeBodies: new LargeBodies(waitingBounds(0)),
  limits: { logins: counted('network'), testMails: counted('account') },
} as unknown as WebDeps

const declared = { tag: 'Service', summary: 'x', errors: [] } as const

const everything = endpoint({
  ...declared,
  method: 'post',
  path: '/everything/:id',
  auth: {
    scheme: 'apiKey',
    errors: ['unauthorized'],
    find: () => async (ctx) => {
      steps.push('found')
      if (ctx.get('authorization') === '') throw new ApiError('unauthorized')
      return { accountId: 'somebody' }
    },
  },
  limits: [
    { limit: 'logins', per: 'client' },
    { limit: 'testMails', per: 'account' },
  ],
  params: pathId('call', 'A call.'),
  query: z.object({ times: z.string().regex(/^\d$/, 'is a digit').transform(Number).default(1) }),
  body: z.object({ text: z.string({ error: 'is required' }), email: z.string({ error: 'invalid_email' }) }),
  answers: {
    200: { description: 'x', schema: z.strictObject({ auth: z.string(), said: z.string(), id: z.string() }) },
  },
  errors: ['invalid_request', 'invalid_email'],
}).handle(() => ({ auth, params, query, body }) => {
  steps.push('handled')
  return { auth: auth.accountId, said: body.text.repeat(query.times), id: params.id }
})

const states = endpoint({
  ...declared,
  method: 'get',
  path: '/states/:which',
  auth: null,
  envelope: 'gateway',
  params: z.object({ which: z.string() }),
  answers: {
    200: { description: 'x', schema: z.strictObject({ well: z.boolean() }) },
    503: { description: 'x', schema: z.strictObject({ down: z.string() }) },
  },
  errors: ['forbidden'],
}).handle(() => ({ params: { which } }) => {
  if (which === 'forbidden' || which === 'email_taken') throw new ApiError(which)
  return which === 'down' ? new Reply(503, { down: 'all' }) : { well: true }
})

describe('a declared endpoint', () => {
  const { log, lines } = readableLog()
  let server: Server
  let url: string
  before(async () => {
    const router = new Router<RequestState>()
    for (const one of [everything, states] as readonly Endpoint[]) router[one.method](one.path, one.serve(deps))
    server = new Koa<RequestState>()
      .use(errorHandler(log, () => {}))
      .use(router.routes())
      .listen(0, '127.0.0.1')
    await once(server, 'listening')
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  after(() => server.close())
  beforeEach(() => {
    steps = []
  })

  const id = newId('call')
  const path = `/everything/${publicId('call', id)}`

  it('gives its handler what was declared, checked and typed', async () => {
    const { status, json } = await send('POST', `${url}${path}?times=2`, {
      key: 'x',
      body: { text: 'a', email: 'b', c: 1 },
    })
    expect([status, json]).to.deep.equal([200, { auth: 'somebody', said: 'aa', id }])
    expect(steps).to.deep.equal(['found', 'network', 'account', 'handled'])
  })

  it('checks in one order: who, limits, body, parameters, query, fields', async () => {
    const wrong = `/everything/none?times=x`
    const answers = [
      [wrong, undefined, '{', 401, 'unauthorized'],
      [wrong, 'x', '{', 400, 'invalid_json'],
      [wrong, 'x', '{}', 404, 'not_found'],
      [`${path}?times=x`, 'x', '{}', 400, 'times is a digit.'],
      [path, 'x', '{}', 400, 'text is required.'],
      [path, 'x', '{"text":"a"}', 400, 'invalid_email'],
    ] as const
    for (const [target, key, body, status, said] of answers) {
      steps = []
      const reply = await send('POST', `${url}${target}`, { key, body })
      expect(reply.status, said).to.equal(status)
      expect([reply.json.error, reply.json.message]).to.include(said)
      expect(steps).to.deep.equal(key ? ['found', 'network', 'account'] : ['found'])
    }
  })

  it('answers with another status than 200 if its handler says so', async () => {
    for (const [which, status, body] of [
      ['up', 200, { well: true }],
      ['down', 503, { down: 'all' }],
    ] as const) {
      const reply = await get(`${url}/states/${which}`)
      expect([reply.status, reply.json]).to.deep.equal([status, body])
    }
  })

  it('sends errors in the envelope that it declares', async () => {
    expect((await get(`${url}/states/forbidden`)).json.error).to.include({ type: 'forbidden', param: null })
    expect((await send('POST', `${url}${path}`, {})).json.error).to.equal('unauthorized')
  })

  it('has its undeclared errors logged', async () => {
    lines.length = 0
    await get(`${url}/states/forbidden`)
    expect(lines.filter(({ msg }) => msg === UNDECLARED)).to.deep.equal([])
    expect((await get(`${url}/states/email_taken`)).status).to.equal(409)
    expect(lines.find(({ msg }) => msg === UNDECLARED)).to.include({ route: '/states/:which', error: 'email_taken' })
  })
})
