import { expect } from 'chai'
import { existsSync, readFileSync } from 'node:fs'
import type { oas31 } from 'zod-openapi'
import { CONSOLE_PATHS } from '../../src/api/static/console.ts'
import type { Endpoint } from '../../src/api/declaration.ts'
import type { WebDeps } from '../../src/api/deps.ts'
import { createLimits } from '../../src/api/limits.ts'
import { createWebMetrics } from '../../src/api/ops/metrics.ts'
import { createTable } from '../../src/api/router.ts'
import { endpoints } from '../../src/api/routes.ts'
import { errorCodes, statusOf } from '../../src/shared/errors.ts'
import { newId, parseId, publicId } from '../../src/shared/ids.ts'
import { grant } from '../../src/shared/ledger/ledger.ts'
import { setAccountRole } from '../../src/shared/operators/changes.ts'
import { PASSWORD, anEmail, consoleConfig, startMailWorker, testQueues } from '../support/console.ts'
import { startGateway } from '../../scripts/harness/harness.ts'
import type { Gateway } from '../../scripts/harness/harness.ts'
import { send } from '../../scripts/harness/http.ts'
import { until } from '../../scripts/until.ts'
import type { Reply } from '../../scripts/harness/http.ts'
import type { Client, Described } from './support/described.ts'
import { describedClient, readDescribed } from './support/described.ts'
import { operate } from './support/operating.ts'

const operations: readonly Endpoint[] = endpoints

/** Pages and their files, the document itself, and the queues' dashboard are no endpoints of the API. */
const isPage = (path: string): boolean =>
  CONSOLE_PATHS.includes(path) || /^\/(docs|console\/.*|docs\/.*|pages\/.*|openapi\.json|admin\/queues.*)$/.test(path)

const METRICS = 'a token of the operators'

const nameOf = ({ method, path }: { method: string; path: string }): string => `${method.toUpperCase()} ${path}`

describe('the OpenAPI document', () => {
  let gateway: Gateway
  let mails: { stop: () => Promise<void> }
  let described: Described
  before(async () => {
    gateway = await startGateway({ WORKER_QUEUES: 'chat,image,video', METRICS_TOKEN: METRICS })
    mails = startMailWorker(gateway.config)
    described = await readDescribed(gateway.url)
  })
  after(async () => {
    await mails.stop()
    await gateway.stop()
  })

  it('names every endpoint of the service, and none that there is not', async () => {
    const config = await consoleConfig({ METRICS_TOKEN: METRICS, DASHBOARD_PASSWORD: 'y' })
    const { redis, queues, stop } = testQueues(config)
    // The table is built of these alone; the rest of the web process is wanted only when somebody asks.
    const { router } = createTable({
      config,
      queues,
      limits: createLimits(redis, config),
      metrics: createWebMetrics(config),
    } as WebDeps)
    await stop()
    const routed = router.stack
      .filter((layer) => !isPage(layer.path as string))
      .flatMap((layer) =>
        layer.methods.filter((method) => method !== 'HEAD').map((method) => `${method} ${String(layer.path)}`),
      )
    expect(operations.map(nameOf).toSorted()).to.deep.equal(routed.toSorted())
    const documented = Object.entries(described.document.paths!).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    )
    expect(documented.toSorted()).to.deep.equal(
      operations.map((one) => nameOf(one).replaceAll(/:(\w+)/g, '{$1}')).toSorted(),
    )
  })

  it('holds together: references lead somewhere, names are unique, parameters of paths are told', () => {
    const { document } = described
    const text = JSON.stringify(document)
    for (const [, name] of text.matchAll(/"#\/components\/schemas\/(\w+)"/g))
      expect(document.components!.schemas).to.have.property(name!)
    const all = Object.entries(document.paths!).flatMap(([path, item]) =>
      Object.values(item as Record<string, oas31.OperationObject>).map((operation) => ({ path, operation })),
    )
    expect(new Set(all.map(({ operation }) => operation.operationId)).size).to.equal(all.length)
    for (const { path, operation } of all) {
      const told = (operation.parameters ?? []).flatMap((one) => ('in' in one && one.in === 'path' ? [one.name] : []))
      expect(told, path).to.deep.equal(Array.from(path.matchAll(/\{(\w+)\}/g), ([, name]) => name))
    }
    expect(document.openapi).to.match(/^3\.1\./)
    expect(document.servers).to.deep.equal([{ url: gateway.config.BASE_URL }])
  })

  it('has every error code, each under its status alone', () => {
    const text = JSON.stringify(described.document)
    for (const code of errorCodes()) expect(text, code).to.contain(`| ${statusOf(code)} | \`${code}\` |`)
    for (const operation of operations) {
      const item = described.document.paths![operation.path.replaceAll(/:(\w+)/g, '{$1}')] as Record<
        string,
        oas31.OperationObject
      >
      for (const code of operation.codes) {
        expect(
          JSON.stringify(item[operation.method]!.responses![statusOf(code)]),
          `${nameOf(operation)} ${code}`,
        ).to.contain(`"${code}"`)
      }
    }
  })

  it('tells requests as they are validated', () => {
    const schemas = described.document.components!.schemas as Record<string, oas31.SchemaObject>
    expect(schemas.KeyRequest!.properties!.name).to.include({ minLength: 1, maxLength: 60 })
    expect(schemas.KeyRequest!.required).to.deep.equal(['name'])
    expect(schemas.ChatRequest!.required).to.deep.equal(['model', 'messages'])
    expect(schemas.RegisterRequest!.required).to.deep.equal(['email', 'password'])
  })

  describe('is what the service answers:', () => {
    const seen = new Set<string>()
    const paths = new Map(
      operations.map((operation) => [
        nameOf(operation),
        new RegExp(`^${operation.path.replaceAll(/:\w+/g, '[^/]+')}$`),
      ]),
    )

    /** Its every answer is held against the document; an endpoint is seen once it has answered with success. */
    function client(key?: string): Client {
      const plain = describedClient(gateway.url, described, key)
      return async (method, path, body) => {
        const reply = await plain(method, path, body)
        const name = [...paths].find(
          ([one, pattern]) => one.startsWith(`${method} `) && pattern.test(path.split('?')[0]!),
        )?.[0]
        if (name && reply.status < 400) seen.add(name)
        return reply
      }
    }

    async function mailedToken(email: string, subject: RegExp): Promise<string> {
      const file = gateway.config.MAIL_FILE
      return until(`a mail to ${email}`, () => {
        const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []
        const mails = lines.map((line) => JSON.parse(line) as { to: string; subject: string; text: string })
        return /#token=([\w-]+)/.exec(
          mails.findLast((mail) => mail.to === email && subject.test(mail.subject))?.text ?? '',
        )?.[1]
      })
    }

    async function liveAsAnAccount(): Promise<void> {
      const email = anEmail()
      const nobody = client()
      const { token } = (await nobody('POST', '/api/auth/register', { email, password: PASSWORD, displayName: 'Ada' }))
        .json
      const me = client(token)
      await nobody('POST', '/api/auth/login', { email, password: PASSWORD })
      await me('GET', '/api/auth/me')
      await me('PATCH', '/api/auth/me', { displayName: 'Ada L.', avatarUrl: 'https://example.com/a.png' })
      const { data } = (await me('GET', '/api/auth/sessions')).json
      await me('DELETE', `/api/auth/sessions/${data.find((one: { current: boolean }) => !one.current).id}`)
      await me('POST', '/api/auth/password', { currentPassword: PASSWORD, password: `${PASSWORD}2` })
      await me('POST', '/api/email/resend')
      await nobody('POST', '/api/email/verify', { token: await mailedToken(email, /^Confirm/) })
      await me('POST', '/api/email/resend')
      await nobody('POST', '/api/email/forgot', { email })
      await nobody('POST', '/api/email/reset', { token: await mailedToken(email, /password/), password: PASSWORD })
      const again = client((await nobody('POST', '/api/auth/login', { email, password: PASSWORD })).json.token)
      await again('GET', '/api/mail/status')
      await again('POST', '/api/mail/test', {})
      await again('POST', '/api/auth/logout')
    }

    async function callModels(): Promise<void> {
      const { token, user } = (await client()('POST', '/api/auth/register', { email: anEmail(), password: PASSWORD }))
        .json
      const me = client(token)
      await gateway.db.transaction((trx) =>
        grant(trx, {
          id: newId('grant'),
          accountId: parseId('account', user.id as string)!,
          origin: 'bonus',
          amount: 5000,
          expiresAt: new Date(Date.now() + 1e9),
        }),
      )
      const { secret, key } = (await me('POST', '/api/keys', { name: 'test' })).json
      const caller = client(secret)
      await caller('GET', '/v1/models')
      const image = await caller('POST', '/v1/images/generations', {
        model: 'sandbox-image',
        prompt: 'a lighthouse',
        resolution: '1K',
      })
      expect(image.status, image.text).to.equal(200)
      await caller('POST', '/v1/videos/generations', { model: 'sandbox-video', prompt: 'a lighthouse', duration: 1 })
      await caller('POST', '/v1/chat/completions', {
        model: 'sandbox-chat',
        messages: [{ role: 'user', content: 'hello' }],
      })
      await caller('POST', '/v1/chat/completions', {
        model: 'sandbox-chat',
        messages: [{ role: 'user', content: 'hello' }],
        stream: true,
      })
      const id = image.headers.get('x-call-id')!
      await caller('GET', `/v1/calls/${id}?wait=1`)
      await client()('GET', new URL(image.json.data[0].url).pathname)
      await me('GET', '/api/account')
      await me('GET', '/api/models')
      await me('GET', '/api/calls?limit=2')
      await me('GET', `/api/calls/${id}`)
      await me('GET', '/api/ledger')
      await me('GET', '/api/grants')
      await me('GET', '/api/usage')
      await me('GET', '/api/keys')
      await me('DELETE', `/api/keys/${key.id}`)
    }

    /** The session token of a fresh account, or of an operator's. */
    async function signUp(role: 'user' | 'admin' = 'user'): Promise<string> {
      const { token, user } = (await client()('POST', '/api/auth/register', { email: anEmail(), password: PASSWORD }))
        .json
      if (role !== 'user') await setAccountRole(gateway.db, null, parseId('account', user.id as string)!, role)
      return token as string
    }

    it('at every endpoint, to somebody who does everything', async () => {
      await liveAsAnAccount()
      await callModels()
      await operate(client(await signUp('admin')), gateway.db)
      for (const path of ['/healthz', '/readyz']) await client()('GET', path)
      await client(METRICS)('GET', '/metrics')
      // The account's events have no end to wait for.
      expect(operations.map(nameOf).filter((name) => !seen.has(name))).to.deep.equal(['GET /api/events'])
    })

    /** Some path of an endpoint: no id in it belongs to anything. */
    const somePath = ({ path }: Endpoint): string =>
      path
        .replace('/sessions/:id', `/sessions/${publicId('session', newId('session'))}`)
        .replace('/keys/:id', `/keys/${publicId('key', newId('key'))}`)
        .replace('/accounts/:id', `/accounts/${publicId('account', newId('account'))}`)
        .replace('/mails/:id', `/mails/${publicId('mail', newId('mail'))}`)
        .replace('/calls/:id', `/calls/${publicId('call', newId('call'))}`)
        .replace(':name', 'nothing')

    it('to somebody without a token', async () => {
      for (const operation of operations.filter((one) => one.who !== null)) {
        const reply = await client()(operation.method.toUpperCase(), somePath(operation))
        expect(reply.status, nameOf(operation)).to.equal(401)
      }
    })

    it('to an account that is no operator', async () => {
      const user = client(await signUp())
      for (const operation of operations.filter((one) => one.tag === 'Operators')) {
        const reply = await user(operation.method.toUpperCase(), somePath(operation))
        expect([reply.status, reply.json.error], nameOf(operation)).to.deep.equal([403, 'forbidden'])
      }
    })

    it('to bodies that are no JSON, none of the right type, or too long', async () => {
      const token = await signUp('admin')
      const { secret } = (await client(token)('POST', '/api/keys', { name: 'test' })).json
      for (const operation of operations.filter((one) => one.body)) {
        const method = operation.method.toUpperCase()
        const path = somePath(operation)
        // To log out takes a body too, and ends its session.
        const session = operation.path === '/api/auth/logout' ? await signUp() : token
        const key = operation.who?.scheme === 'apiKey' ? secret : session
        for (const [body, headers, status] of [
          ['{', {}, 400],
          ['[]', {}, 400],
          ['x', { 'content-type': 'text/plain' }, 415],
          [`"${'x'.repeat(1_048_576)}"`, {}, 413],
        ] as const) {
          const reply = await send(method, `${gateway.url}${path}`, {
            key,
            body,
            headers: { 'content-type': 'application/json', ...headers },
          })
          expect(reply.status, `${nameOf(operation)} ${body.slice(0, 10)}`).to.equal(status)
          described.check(method, path, reply)
        }
        const empty = await send(method, `${gateway.url}${path}`, { key, body: '{}' })
        described.check(method, path, empty)
      }
    })

    it('to what it refuses', async () => {
      const email = anEmail()
      const nobody = client()
      const { token } = (await nobody('POST', '/api/auth/register', { email, password: PASSWORD })).json
      const me = client(token)
      const { secret } = (await me('POST', '/api/keys', { name: 'test' })).json
      const caller = client(secret)
      const refusals: [Promise<Reply>, number, string][] = [
        [
          caller('POST', '/v1/images/generations', { model: 'sandbox-image', prompt: 'a fox' }),
          402,
          'insufficient_credits',
        ],
        [
          caller('POST', '/v1/images/generations', { model: 'sandbox-chat', prompt: 'a fox' }),
          400,
          'unsupported_model',
        ],
        [caller('POST', '/v1/videos/generations', { model: 'sandbox-video', prompt: '' }), 400, 'invalid_prompt'],
        [caller('POST', '/v1/chat/completions', { model: 'sandbox-chat', messages: [] }), 400, 'invalid_messages'],
        [
          caller('POST', '/v1/images/generations', { model: 'unavailable-image', prompt: 'a fox' }),
          503,
          'upstream_unavailable',
        ],
        [caller('GET', `/v1/calls/${publicId('call', newId('call'))}?wait=61`), 400, 'invalid_request'],
        [nobody('POST', '/api/auth/register', { email, password: PASSWORD }), 409, 'email_taken'],
        [nobody('POST', '/api/auth/register', { email: 'x', password: PASSWORD }), 400, 'invalid_email'],
        [nobody('POST', '/api/auth/register', { email: anEmail(), password: 'short' }), 400, 'password_too_short'],
        [nobody('POST', '/api/auth/login', { email, password: 'wrong' }), 401, 'invalid_credentials'],
        [nobody('POST', '/api/email/verify', { token: 'x' }), 400, 'invalid_token'],
        [nobody('POST', '/api/email/reset', { token: 'x', password: PASSWORD }), 400, 'invalid_token'],
        [me('POST', '/api/auth/password', { currentPassword: 'wrong', password: PASSWORD }), 400, 'wrong_password'],
        [me('POST', '/api/mail/test', { to: 'x' }), 400, 'invalid_email'],
        [me('PATCH', '/api/auth/me', { displayName: 'x'.repeat(61) }), 400, 'invalid_request'],
        [me('GET', '/api/calls?limit=0'), 400, 'invalid_request'],
        [me('GET', '/api/usage?from=x'), 400, 'invalid_request'],
      ]
      for (const [asked, status, code] of refusals) {
        const { status: answered, json } = await asked
        expect([answered, json.error.type ?? json.error]).to.deep.equal([status, code])
      }
    })

    it('to ids that belong to nothing', async () => {
      const token = await signUp('admin')
      const { secret } = (await client(token)('POST', '/api/keys', { name: 'test' })).json
      for (const operation of operations.filter((one) => one.params)) {
        const reply = await client(operation.who?.scheme === 'apiKey' ? secret : token)(
          operation.method.toUpperCase(),
          somePath(operation),
          operation.body && { amount: 1, origin: 'bonus' },
        )
        expect(reply.status, nameOf(operation)).to.equal(404)
      }
    })
  })
})
