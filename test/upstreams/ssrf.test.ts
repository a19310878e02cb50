import { expect } from 'chai'
import { createLog } from '../../src/shared/platform/process/log.ts'
import { systemResolver } from '../../src/workers/fetching/connections.ts'
import type { ResolvedAddress } from '../../src/workers/fetching/connections.ts'
import { startWorker } from '../../src/workers/worker.ts'
import { expectBooksToBalance } from '../support/books.ts'
import { balanceOf } from '../../scripts/harness/factories.ts'
import type { TestAccount } from '../../scripts/harness/factories.ts'
import type { Gateway } from '../../scripts/harness/harness.ts'
import { startGateway } from '../../scripts/harness/harness.ts'
import type { Reply } from '../../scripts/harness/http.ts'
import { movementsOf, prompted } from '../../scripts/harness/calling.ts'
import { PIXEL } from '../support/pixel.ts'
import type { Listening } from '../workers/fetching/servers.ts'
import { serve } from '../workers/fetching/servers.ts'
import { FUNDS, aFundedAccount, ask, everyProtocol, modelEntry, targetsOf } from './support/targets.ts'
import type { Target } from './support/targets.ts'

/**
 * Hosts that are not public, of each kind of spelling; `%` is the canary's port. All spellings are in
 * test/shared/requests/special-addresses.ts.
 */
const PRIVATE_HOSTS =
  '127.0.0.1:% 2130706433:% localhost:% [::ffff:7f00:1]:% 169.254.169.254 metadata.google.internal'.split(' ')

/** What a name resolves to. */
const NAMES: Record<string, string[]> = {
  'inside.example': ['127.0.0.1'],
  'metadata.example': ['169.254.169.254'],
  'half-inside.example': ['93.184.216.34', '10.0.0.1'],
  'inside-v6.example': ['::1'],
  'mapped.example': ['::ffff:127.0.0.1'],
}

/** The one sentence about an address that failed, whatever the reason. */
const UNFETCHED = /^image_url: The image could not be fetched\. The credits .* refunded\.$/

/** Of both kinds of uploads and of addresses that are handed over. */
const ASKED: Target[] = [
  { protocol: 'openai', modality: 'chat' },
  { protocol: 'anthropic', modality: 'chat' },
  { protocol: 'openai', modality: 'image' },
  { protocol: 'fal', modality: 'image' },
  { protocol: 'replicate', modality: 'video' },
]

const chats = targetsOf('chat')
const media = targetsOf('direct', 'task')
const nameOf = ({ protocol, modality }: Target): string => `${protocol} ${modality}`

describe('addresses that lead into the private network', function () {
  let gateway: Gateway
  /** Must never be reached. It answers everything with an image of one pixel. */
  let canary: Listening
  let worker: Awaited<ReturnType<typeof startWorker>>
  let account: TestAccount

  /** The machine's resolver, except for the names of these tests. */
  async function resolve(hostname: string, signal: AbortSignal): Promise<ResolvedAddress[]> {
    if (!hostname.endsWith('.example')) return systemResolver(hostname, signal)
    const addresses = NAMES[hostname]
    if (!addresses) throw Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), { code: 'ENOTFOUND' })
    return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  }

  before(async () => {
    gateway = await startGateway({}, (catalogue) => {
      everyProtocol(catalogue)
      catalogue.models.push(modelEntry('linking-image', 'image', [{ upstream: 'linking', model: 'url-image' }]))
      catalogue.upstreams.linking = { ...catalogue.upstreams.openai, results: 'link' }
    })
    canary = await serve((_request, response) => {
      response.writeHead(200, { 'content-type': 'image/png' }).end(Buffer.from(PIXEL, 'base64'))
    })
    await gateway.stopWorker()
    worker = await startWorker(gateway.config, createLog('error', 'worker'), 500, { resolver: resolve })
  })
  after(async () => {
    await worker.stop()
    await gateway.stop()
    await canary.close()
  })
  beforeEach(async () => {
    account = await aFundedAccount(gateway)
  })
  afterEach(async () => {
    expect(canary.connections(), 'the canary was reached').to.equal(0)
    await expectBooksToBalance(gateway.db)
  })

  const portOf = (address: string): string => address.replace('%', String(canary.port))
  /** Messages with a text and a picture. */
  const picturing = (text: string, image_url: unknown) => [
    { role: 'user', content: 'Hello' },
    {
      role: 'user',
      content: [
        { type: 'text', text },
        { type: 'image_url', image_url },
      ],
    },
  ]

  /** A call with an address, for each modality. */
  const askWith = (target: Target, url: string, prompt = prompted()): Promise<Reply> =>
    ask(gateway, account, target, prompt, {
      more: target.modality === 'chat' ? { messages: picturing(prompt, { url }) } : { image_url: url },
    })

  describe('by their spelling', () => {
    async function expectRefused(reply: Reply, param: string, about: string): Promise<void> {
      expect(reply.status, `${about}: ${reply.text}`).to.equal(400)
      expect(reply.json.error, about).to.include({ type: 'invalid_request', param })
      expect(await movementsOf(gateway.db, reply)).to.deep.equal([])
    }

    it('are refused before a charge, in every field that an upstream would fetch', async () => {
      for (const address of [...PRIVATE_HOSTS.map((host) => `http://${host}/x.png`), 'file:///etc/passwd']) {
        const url = portOf(address)
        await expectRefused(await askWith({ protocol: 'fal', modality: 'image' }, url), 'image_url', 'image')
        await expectRefused(await askWith({ protocol: 'openai', modality: 'video' }, url), 'image_url', 'video')
        for (const given of [{ url }, url, { url, detail: 'low' }]) {
          const reply = await ask(gateway, account, { protocol: 'anthropic', modality: 'chat' }, '', {
            more: { messages: picturing('Look', given) },
          })
          await expectRefused(reply, 'messages[1].content[1].image_url', 'chat')
        }
      }
      expect(await balanceOf(gateway.db, account.id)).to.equal(FUNDS)
    })
  })

  describe('by a name', () => {
    for (const target of ASKED) {
      it(`fail the call, refunded, before anything is sent to the upstream: ${nameOf(target)}`, async () => {
        await Promise.all(
          Object.keys(NAMES).map(async (name) => {
            const prompt = prompted()
            const reply = await askWith(target, `http://${name}:${canary.port}/x.png`, prompt)
            expect(reply.status, `${name}: ${reply.text}`).to.equal(502)
            expect(reply.json.error.message, name).to.match(UNFETCHED)
            expect(gateway.sandbox.journal(prompt), name).to.deep.equal([])
          }),
        )
        expect(await balanceOf(gateway.db, account.id)).to.equal(FUNDS)
      })
    }

    it('that does not resolve is passed on only to upstreams that fetch by themselves', async () => {
      const url = 'https://nowhere.example/x.png'
      const isFetching = ({ protocol }: Target) => protocol !== 'gemini'
      const fetching = [...chats, ...media.filter(({ protocol }) => protocol !== 'openai')].filter(isFetching)
      await Promise.all(
        fetching.map(async (target) => {
          const prompt = prompted()
          const reply = await askWith(target, url, prompt)
          expect(reply.status, `${nameOf(target)} ${reply.text}`).to.equal(200)
          expect(JSON.stringify(gateway.sandbox.journal(prompt)[0]!.body), nameOf(target)).to.include(url)
        }),
      )
      for (const modality of ['image', 'video'] as const) {
        const reply = await askWith({ protocol: 'openai', modality }, url)
        expect(reply.status).to.equal(502)
        expect(reply.json.error.message).to.match(UNFETCHED)
      }
    })
  })

  describe('by a result', () => {
    const image = { protocol: 'fal', modality: 'image' } as const

    async function expectNotFetched(prompt: string, about: string): Promise<void> {
      const reply = await ask(gateway, account, image, prompt)
      expect(reply.status, `${about}: ${reply.text}`).to.equal(502)
      expect(reply.json.error.message, about).to.match(
        /^The result was not fetched: The address leads into a network that is not public|could not produce/,
      )
    }

    it('are not followed, however they are written, by a name, or after a redirect', async () => {
      await Promise.all([
        ...PRIVATE_HOSTS.map((host) => expectNotFetched(prompted(`[result-url http://${portOf(host)}/x.png]`), host)),
        ...PRIVATE_HOSTS.map((host) =>
          expectNotFetched(prompted(`[redirect http://${portOf(host)}/x.png]`), `redirect to ${host}`),
        ),
        ...Object.keys(NAMES).map((name) =>
          expectNotFetched(prompted(`[result-url http://${name}:${canary.port}/x.png]`), name),
        ),
        ...Object.keys(NAMES).map((name) =>
          expectNotFetched(prompted(`[redirect http://${name}:${canary.port}/x.png]`), `redirect to ${name}`),
        ),
      ])
      expect(await balanceOf(gateway.db, account.id)).to.equal(FUNDS)
    })

    it('are passed on unread if the operator wants results at their own address', async () => {
      const url = portOf('http://127.0.0.1:%/x.png')
      const reply = await ask(gateway, account, { ...image, protocol: 'openai' }, prompted(`[result-url ${url}]`), {
        more: { model: 'linking-image' },
      })
      expect(reply.status, reply.text).to.equal(200)
      expect(reply.json.data).to.deep.equal([{ url }])
    })
  })
})
