import { expect } from 'chai'
import { statusIn } from '../../src/api/middleware/request-context.ts'
import type { oas31 } from 'zod-openapi'
import { CONSOLE_PATHS } from '../../src/api/static/console.ts'
import { longestBody } from '../../src/api/endpoint/declaration.ts'
import type { Endpoint } from '../../src/api/endpoint/declaration.ts'
import type { WebDeps } from '../../src/api/deps.ts'
import { createLimits } from '../../src/api/endpoint/rate-limits.ts'
import { createWebMetrics } from '../../src/api/ops/metrics.ts'
import { createTable } from '../../src/api/endpoint/router.ts'
import { endpoints } from '../../src/api/routes.ts'
import { errorCodes, statusOf, shownCodeOf } from '../../src/shared/platform/errors.ts'
import { newId, publicId, PREFIXES } from '../../src/shared/platform/ids.ts'
import type { IdKind } from '../../src/shared/platform/ids.ts'
import { consoleConfig, startMailWorker, testQueues } from '../support/console.ts'
import { startGateway } from '../../scripts/harness/harness.ts'
import type { Gateway, Settings } from '../../scripts/harness/harness.ts'
import { send } from '../../scripts/harness/http.ts'
import type { Client, Described } from './support/described.ts'
import { describedClient, readDescribed } from './support/described.ts'
import { allRequests, createVisitor } from './support/visitor.ts'
import type { Requests, Visitor } from './support/visitor.ts'

const operations: readonly Endpoint[] = endpoints

/** Pages and their files, the document itself, and the dashboard of the queues are not part of the API. */
const isPage = (path: string | RegExp): boolean =>
  path instanceof RegExp ||
  CONSOLE_PATHS.includes(path) ||
  /^\/(dev\/mail|console\/.*|pages\/.*|openapi\.json|admin\/queues.*)$/.test(path)

const nameOf = ({ method, path }: { method: string; path: string }): string => `${method.toUpperCase()} ${path}`

/** The path of an operation in the document. */
const documentedAs = ({ path }: { path: string }): string =>
  path.replaceAll(/(?<=\/)[:*](\w+)/g, '{$1}').replace('\\', '')

/** Whether an operation is for the holders of API keys. */
const isOfKeys = ({ auth }: Endpoint): boolean => auth?.scheme === 'apiKey' || auth?.scheme === 'googleKey'

/** The key as Google's clients send it, where an operation is for them. */
const ofGoogle = ({ auth }: Endpoint, key: string): Record<string, string> =>
  auth?.scheme === 'googleKey' ? { 'x-goog-api-key': key } : {}

/** Whether an operation names its errors as another API does. */
const hasOwnCodes = ({ envelope }: (typeof operations)[number]): boolean =>
  envelope === 'messages' || envelope === 'responses' || envelope === 'gemini'

type BadBody = readonly [body: string, headers: Record<string, string>, status: number]

const NO_JSON: readonly BadBody[] = [
  ['{', {}, 400],
  ['x', { 'content-type': 'text/plain' }, 415],
]

const OF_FORMS = { 'content-type': 'multipart/form-data; boundary=b' }

const NO_FORMS: readonly BadBody[] = [
  ['x', { 'content-type': 'text/plain' }, 415],
  ['x', { 'content-type': 'multipart/form-data' }, 400],
  ['{}', OF_FORMS, 400],
  [`--b\r\nContent-Disposition: form-data; name="model"\r\n\r\n${'x'.repeat(1_048_600)}\r\n--b--\r\n`, OF_FORMS, 413],
]

describe('the OpenAPI document', () => {
  let areas: Requests[]
  let settings: Settings
  let gateway: Gateway
  let mails: { stop: () => Promise<void> }
  let described: Described
  before(async () => {
    areas = await allRequests()
    settings = Object.assign({}, ...areas.map((area) => area.settings)) as Settings
    gateway = await startGateway({
      WORKER_QUEUES: 'chat,image,video,embedding,moderation,rerank,speech,transcription',
      MAX_DIALECT_BODY_BYTES: '1048576',
      ...settings,
    })
    mails = startMailWorker(gateway.config)
    described = await readDescribed(gateway.url)
  })
  after(async () => {
    await mails.stop()
    await gateway.stop()
  })

  it('names every endpoint of the service, and no other', async () => {
    const config = await consoleConfig({ ...settings, DASHBOARD_PASSWORD: 'y' })
    const { redis, queues, stop } = testQueues(config)
    // Building the table needs these alone; the rest of the web process is needed by requests.
    const limits = createLimits(redis, config)
    const providers = new Map()
    const deps: Partial<WebDeps> = { config, queues, limits, providers, metrics: createWebMetrics(config) }
    const { router } = createTable(deps as WebDeps)
    await stop()
    const routed = router.stack
      .filter((layer) => !isPage(layer.path))
      .flatMap((layer) =>
        layer.methods.filter((method) => method !== 'HEAD').map((method) => `${method} ${String(layer.path)}`),
      )
    expect(operations.map(nameOf).toSorted()).to.deep.equal(routed.toSorted())
    const documented = Object.entries(described.document.paths!).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    )
    expect(documented.toSorted()).to.deep.equal(
      operations.map((one) => nameOf({ ...one, path: documentedAs(one) })).toSorted(),
    )
  })

  it('has no dead reference, no operation id twice, and every parameter of every path', () => {
    const { document } = described
    const text = JSON.stringify(document)
    for (const [, name] of text.matchAll(/"#\/components\/schemas\/(\w+)"/g))
      expect(document.components!.schemas).to.have.property(name!)
    const all = Object.entries(document.paths!).flatMap(([path, item]) =>
      Object.values(item as Record<string, oas31.OperationObject>).map((operation) => ({ path, operation })),
    )
    expect(new Set(all.map(({ operation }) => operation.operationId)).size).to.equal(all.length)
    for (const { path, operation } of all) {
      const named = (operation.parameters ?? []).flatMap((one) => ('in' in one && one.in === 'path' ? [one.name] : []))
      expect(named, path).to.deep.equal(Array.from(path.matchAll(/\{(\w+)\}/g), ([, name]) => name))
    }
    expect(document.openapi).to.match(/^3\.1\./)
    expect(document.servers).to.deep.equal([{ url: gateway.config.BASE_URL }])
  })

  it('has every error code, each under its own status', () => {
    const text = JSON.stringify(described.document)
    for (const code of errorCodes()) expect(text, code).to.contain(`| ${statusOf(code)} | \`${code}\` |`)
    for (const operation of operations) {
      const item = described.document.paths![documentedAs(operation)] as Record<string, oas31.OperationObject>
      for (const code of operation.codes) {
        expect(
          JSON.stringify(item[operation.method]!.responses![statusIn(operation.envelope ?? 'console', code)]),
          `${nameOf(operation)} ${code}`,
        ).to.contain(hasOwnCodes(operation) ? `\`${code}\`` : `"${shownCodeOf(code)}"`)
      }
    }
  })

  describe('describes what the service answers', () => {
    /** The body that each endpoint has answered with success, by the endpoint's name. */
    const succeeded = new Map<string, unknown>()
    /** The last refusal of each. */
    const refused = new Map<string, string>()
    const paths = new Map(
      operations.map((operation) => [
        nameOf(operation),
        new RegExp(`^${operation.path.replaceAll(/(?<=\/):\w+/g, '[^/]+').replaceAll(/\*\w+/g, '.+')}$`),
      ]),
    )

    /** Holds every answer against the document, and remembers what succeeds. */
    function client(key?: string): Client {
      const plain = describedClient(gateway.url, described, key)
      return async (method, path, body, headers) => {
        const reply = await plain(method, path, body, headers)
        const name = [...paths].find(
          ([one, pattern]) => one.startsWith(`${method} `) && pattern.test(path.split('?')[0]!),
        )?.[0]
        if (name && reply.status < 400) succeeded.set(name, body)
        else if (name) refused.set(name, `${reply.status} ${reply.text.slice(0, 300)}`)
        return reply
      }
    }

    let visitor: Visitor
    before(async function () {
      // It calls every endpoint.
      this.timeout(150_000)
      visitor = createVisitor(gateway, client)
      for (const { send: sendAll } of areas) await sendAll(visitor)
    })

    it('at every endpoint: test/api/requests has a request for each', () => {
      // The stream of events never ends.
      const missing = operations.map(nameOf).filter((name) => !succeeded.has(name))
      const answers = missing.map((name) => `${name}: ${refused.get(name)}`).join('\n')
      expect(missing, answers).to.deep.equal(['GET /api/events'])
    })

    /** The path of an endpoint, with ids that belong to nothing. */
    const somePath = ({ path }: Endpoint): string =>
      path
        .replaceAll(/\/(\w+)s\/:id\b/g, (segment, kind: string) =>
          kind in PREFIXES ? segment.replace(':id', publicId(kind as IdKind, newId(kind as IdKind))) : segment,
        )
        .replace(':version', '999999')
        .replaceAll(/(?<=\/)[:*]\w+/g, 'nothing')
        .replace('\\', '')

    it('to somebody without a token', async () => {
      for (const operation of operations.filter((one) => one.auth !== null)) {
        const reply = await client()(operation.method.toUpperCase(), somePath(operation))
        expect(reply.status, nameOf(operation)).to.equal(401)
      }
    })

    it('to bodies that are not JSON, of the wrong type, or too large', async () => {
      const { token, me } = await visitor.signUp({ role: 'admin', credits: 1000 })
      const { secret } = (await me('POST', '/api/keys', { name: 'test' })).json
      for (const operation of operations.filter((one) => one.body)) {
        const method = operation.method.toUpperCase()
        const path = somePath(operation)
        // Logging out takes a body too, and ends its session.
        const session = operation.path === '/api/auth/logout' ? (await visitor.signUp()).token : token
        const key = isOfKeys(operation) ? secret : session
        const tooLarge: BadBody = [JSON.stringify('x'.repeat(longestBody(operation, gateway.config))), {}, 413]
        for (const [body, headers, status] of operation.form ? NO_FORMS : [...NO_JSON, tooLarge]) {
          const reply = await send(method, `${gateway.url}${path}`, {
            key,
            body,
            headers: { 'content-type': 'application/json', ...ofGoogle(operation, key), ...headers },
          })
          const expected = status === 413 ? statusIn(operation.envelope ?? 'console', 'payload_too_large') : status
          expect(reply.status, `${nameOf(operation)} ${body.slice(0, 10)}`).to.equal(expected)
          described.check(method, path, reply)
        }
        const empty = await send(method, `${gateway.url}${path}`, {
          key,
          body: '{}',
          headers: ofGoogle(operation, key),
        })
        described.check(method, path, empty)
      }
    })

    it('to ids that belong to nothing', async () => {
      const { token, me } = await visitor.signUp({ role: 'admin' })
      const { secret } = (await me('POST', '/api/keys', { name: 'test' })).json
      for (const operation of operations.filter((one) => one.params)) {
        const key = isOfKeys(operation) ? secret : token
        const [method, body] = [operation.method.toUpperCase(), succeeded.get(nameOf(operation))]
        const reply = await client(key)(method, somePath(operation), body, ofGoogle(operation, key))
        expect(reply.status, nameOf(operation)).to.equal(404)
      }
    })
  })
})
