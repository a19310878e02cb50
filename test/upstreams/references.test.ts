import type { RequestListener, ServerResponse } from 'node:http'
import { createServer as createSocketServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { expect } from 'chai'
import { createLog } from '../../src/shared/platform/process/log.ts'
import type { ResolvedAddress } from '../../src/workers/fetching/connections.ts'
import { startWorker } from '../../src/workers/worker.ts'
import { balanceOf } from '../../scripts/harness/factories.ts'
import type { TestAccount } from '../../scripts/harness/factories.ts'
import { prompted } from '../../scripts/harness/calling.ts'
import type { Gateway } from '../../scripts/harness/harness.ts'
import { startGateway } from '../../scripts/harness/harness.ts'
import type { Reply } from '../../scripts/harness/http.ts'
import { until } from '../../scripts/harness/until.ts'
import { expectBooksToBalance } from '../support/books.ts'
import { PIXEL, PIXEL_URI } from '../support/pixel.ts'
import type { Listening } from '../workers/fetching/servers.ts'
import { serve } from '../workers/fetching/servers.ts'
import { BOMBS } from '../workers/storage/bombs.ts'
import { FUNDS, aFundedAccount, ask, everyProtocol, modelEntry } from './support/targets.ts'
import type { Target } from './support/targets.ts'

/** The one sentence about an address that failed, whatever the reason. */
const UNFETCHED = 'image_url: The image could not be fetched. The credits charged for this call were refunded.'

/** A public address that servers of this test stand for. */
const PUBLIC = '93.184.216.34'

const IMAGE: Target = { protocol: 'openai', modality: 'image' }

/**
 * A chat and a task whose upstreams fetch nothing. How each protocol is sent a picture: test/workers/upstreams and
 * test/workers/upstreams/cells.test.ts.
 */
const FETCHED: Target[] = [
  { protocol: 'anthropic', modality: 'chat' },
  { protocol: 'fal', modality: 'image' },
]

/** Answers nothing until it is let go. */
const held: { isLetGo: boolean; waiting: ServerResponse[] } = { isLetGo: false, waiting: [] }

const hold: RequestListener = (_request, response) => {
  if (held.isLetGo) response.writeHead(404).end()
  else held.waiting.push(response)
}

function letGo(): void {
  held.isLetGo = true
  for (const response of held.waiting.splice(0)) response.writeHead(404).end()
}

/** Sends a byte at once, and one more each second. */
const trickle: RequestListener = (_request, response) => {
  response.writeHead(200, { 'content-type': 'image/png' })
  response.write('x')
  const timer = setInterval(() => response.write('x'), 1000)
  response.on('close', () => clearInterval(timer))
}

const answers: Record<string, RequestListener> = {
  '/pixel.png': (_request, response) => response.end(Buffer.from(PIXEL, 'base64')),
  '/held.png': hold,
  '/slow.png': trickle,
  '/silent.png': () => {},
  '/missing.png': (_request, response) => response.writeHead(404).end(),
  '/page.png': (_request, response) => response.end('<html></html>'),
  '/cut.png': (_request, response) => response.end(Buffer.from(PIXEL, 'base64').subarray(0, -3)),
  '/bomb.png': (_request, response) => response.end(BOMBS[0]),
  '/port.png': (_request, response) => response.writeHead(302, { location: 'http://public.example:22/' }).end(),
}

describe('the images that customers name', function () {
  let gateway: Gateway
  let files: Listening
  let worker: Awaited<ReturnType<typeof startWorker>>
  let account: TestAccount
  let other: TestAccount
  /** One whose server answers nothing: it takes twenty seconds, while everything else runs. */
  let silent: { reply: Promise<Reply>; startedAt: number; endedAt: number }

  const resolver = async (hostname: string): Promise<ResolvedAddress[]> => {
    if (hostname === 'public.example') return [{ address: PUBLIC, family: 4 }]
    throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' })
  }
  /** The public address is played by this machine. */
  const dial = (found: ResolvedAddress): ResolvedAddress =>
    found.address === PUBLIC ? { address: '127.0.0.1', family: 4 } : found

  before(async () => {
    files = await serve((request, response) => answers[request.url!]!(request, response))
    gateway = await startGateway({ IMAGE_CONCURRENCY: '4' }, (catalogue) => {
      everyProtocol(catalogue)
      for (const { protocol, modality } of FETCHED) {
        catalogue.upstreams[`kept-${protocol}`] = { ...catalogue.upstreams[protocol], fetchImages: true }
        const upstreams = [{ upstream: `kept-${protocol}`, model: `sandbox/${modality}` }]
        catalogue.models.push(modelEntry(`kept-${protocol}-${modality}`, modality, upstreams))
      }
      catalogue.upstreams.narrow = { ...catalogue.upstreams.openai, concurrency: 1 }
      catalogue.models.push(modelEntry('narrow-image', 'image', [{ upstream: 'narrow', model: 'm' }]))
    })
    await gateway.stopWorker()
    const settings = { resolver, dial, timeouts: { connect: 2000 }, mostFailures: 40, pace: { graceMs: 1000 } }
    worker = await startWorker(gateway.config, createLog('error', 'worker'), 500, settings)
    const reply = edit(at('/silent.png'), await aFundedAccount(gateway), 'narrow-image')
    silent = { reply, startedAt: performance.now(), endedAt: Infinity }
    reply.then(() => (silent.endedAt = performance.now())).catch(() => {})
    await until('the silent server to be asked', () => files.requests.some(({ url }) => url === '/silent.png'))
    const beside = await ask(gateway, await aFundedAccount(gateway), IMAGE, prompted(), {
      more: { model: 'narrow-image' },
    })
    expect([beside.status, silent.endedAt], beside.text).to.deep.equal([200, Infinity])
  })
  afterEach(() => expectBooksToBalance(gateway.db))
  after(async () => {
    await worker.stop()
    await gateway.stop()
    await files.close()
  })
  beforeEach(async () => {
    ;[account, other] = await Promise.all([aFundedAccount(gateway), aFundedAccount(gateway)])
  })

  const at = (path: string): string => `http://public.example:${files.port}${path}`
  const edit = (image_url: string, who = account, model = 'openai-image'): Promise<Reply> =>
    ask(gateway, who, IMAGE, prompted(), { more: { image_url, model } })
  const messagesWith = (prompt: string, ...urls: string[]) => [
    {
      role: 'user',
      content: [{ type: 'text', text: prompt }, ...urls.map((url) => ({ type: 'image_url', image_url: { url } }))],
    },
  ]

  it('leave the calls of other accounts alone, however slow the servers of twenty of one account are', async () => {
    let left = 20
    const slow = Array.from({ length: left }, () =>
      edit(at('/held.png')).finally(() => {
        left -= 1
      }),
    )
    await until('all places of the account to be held', () => held.waiting.length === 2)
    for (const more of [{}, { image_url: PIXEL_URI }, { image_url: at('/pixel.png') }]) {
      const reply = await ask(gateway, other, IMAGE, prompted(), { more })
      expect(reply.status, reply.text).to.equal(200)
    }
    expect(left, 'that still wait').to.equal(20)
    letGo()
    for (const reply of await Promise.all(slow)) {
      expect(reply.status, reply.text).to.equal(502)
      expect(reply.json.error.message).to.equal(UNFETCHED)
    }
    expect(await balanceOf(gateway.db, account.id)).to.equal(FUNDS)
  })

  it('fail with one sentence, whatever the reason', async () => {
    const closed = createSocketServer().listen(0, '127.0.0.1')
    await once(closed, 'listening')
    const { port } = closed.address() as AddressInfo
    closed.close()
    const reasons = {
      closed: `http://public.example:${port}/`,
      'no TLS': at('/').replace('http:', 'https:'),
      'no such name': 'http://nowhere.example/',
      ...Object.fromEntries(
        ['/missing.png', '/slow.png', '/page.png', '/cut.png', '/bomb.png', '/port.png'].map((path) => [
          path,
          at(path),
        ]),
      ),
    }
    for (const [reason, url] of Object.entries(reasons)) {
      const reply = await edit(url)
      expect(reply.status, reason).to.equal(502)
      expect(reply.json.error.message, reason).to.equal(UNFETCHED)
    }
    expect(await balanceOf(gateway.db, account.id)).to.equal(FUNDS)
  })

  for (const { protocol, modality } of FETCHED) {
    it(`are sent as data to an upstream with fetchImages: ${protocol} ${modality}`, async () => {
      const asked = (prompt: string, url: string) =>
        ask(gateway, account, { protocol, modality }, prompt, {
          more: {
            model: `kept-${protocol}-${modality}`,
            ...(modality === 'chat' ? { messages: messagesWith(prompt, url, url) } : { image_url: url }),
          },
        })
      const prompt = prompted()
      const reply = await asked(prompt, at('/pixel.png'))
      expect(reply.status, reply.text).to.equal(200)
      const sent = JSON.stringify(gateway.sandbox.journal(prompt)[0]!.body)
      expect(sent).to.include(PIXEL)
      expect(sent).to.not.include('public.example')
      const unresolved = prompted()
      const failed = await asked(unresolved, 'http://nowhere.example/x.png')
      expect([failed.status, failed.json.error.message]).to.deep.equal([502, UNFETCHED])
      expect(gateway.sandbox.journal(unresolved), 'nothing was sent').to.deep.equal([])
    })
  }

  it('are fetched in twenty seconds in all, before a place at the upstream is taken', async () => {
    const reply = await silent.reply
    expect([reply.status, reply.json.error.message]).to.deep.equal([502, UNFETCHED])
    // Two pictures, one after the other, would take forty.
    expect(silent.endedAt - silent.startedAt).to.be.within(15_000, 38_000)
  }).timeout(120_000)
})
