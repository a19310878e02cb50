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
import { movementsOf, prompted } from '../../scripts/harness/calling.ts'
import type { Reply } from '../../scripts/harness/http.ts'
import { until } from '../../scripts/harness/until.ts'
import { useFor, useGateway } from '../support/gateway.ts'
import { PIXEL, PIXEL_URI } from '../support/pixel.ts'
import { serve } from '../workers/fetching/servers.ts'
import { BOMBS } from '../workers/storage/bombs.ts'
import { FUNDS, aFundedAccount, ask, everyProtocol, modelEntry } from './support/targets.ts'
import type { Target } from './support/targets.ts'

/** The one sentence about an address that failed, whatever the reason. */
const UNFETCHED = 'image_url: The image could not be fetched. The credits charged for this call were refunded.'

/** A public address that servers of this test stand for. */
const PUBLIC = '93.184.216.34'

/** What names resolve to. All ways to lead into the private network: test/workers/fetching. */
const NAMES: Record<string, string[]> = {
  'public.example': [PUBLIC],
  'inside.example': ['127.0.0.1'],
  'half-inside.example': [PUBLIC, '10.0.0.1'],
}
const INSIDE = ['inside.example', 'half-inside.example']

/** How long the pictures of one call may take here, in ms; a worker gives them 20 s. */
const TOTAL_MS = 10_000

const CHAT: Target = { protocol: 'anthropic', modality: 'chat' }
const IMAGE: Target = { protocol: 'openai', modality: 'image' }
const TASK: Target = { protocol: 'fal', modality: 'image' }

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

const resolver = async (hostname: string): Promise<ResolvedAddress[]> => {
  const found = NAMES[hostname]
  if (!found) throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' })
  return found.map((address) => ({ address, family: 4 }))
}
/** The public address is played by this machine. */
const dial = (found: ResolvedAddress): ResolvedAddress =>
  found.address === PUBLIC ? { address: '127.0.0.1', family: 4 } : found

describe('the addresses that customers and results name', function () {
  const files = useFor(
    () => serve((request, response) => answers[request.url!]!(request, response)),
    ({ close }) => close(),
  )
  /** Must never be reached. */
  const canary = useFor(
    () => serve((_request, response) => void response.end(Buffer.from(PIXEL, 'base64'))),
    ({ close }) => close(),
  )
  const gateway = useGateway({ IMAGE_CONCURRENCY: '4' }, (catalogue) => {
    everyProtocol(catalogue)
    const { upstreams, models } = catalogue
    const add = (id: string, { protocol, modality }: Target, more: object): void => {
      upstreams[id] = { ...upstreams[protocol], ...more }
      models.push(modelEntry(`${id}-${modality}`, modality, [{ upstream: id, model: `sandbox/${modality}` }]))
    }
    add('linking', IMAGE, { results: 'link' })
    add('narrow', IMAGE, { concurrency: 1 })
    add('kept-chat', CHAT, { fetchImages: true })
    add('kept-task', TASK, { fetchImages: true })
  })
  useFor(
    async () => {
      await gateway.stopWorker()
      const pace = { graceMs: 1000, totalMs: TOTAL_MS }
      const settings = { resolver, dial, timeouts: { connect: 2000 }, mostFailures: 40, pace }
      return startWorker(gateway.config, createLog('error', 'worker'), 500, settings)
    },
    (worker) => worker.stop(),
  )
  let account: TestAccount
  /** One whose server answers nothing: it takes long, while everything else runs. */
  let silent: { reply: Promise<Reply>; startedAt: number; endedAt: number }

  before(async () => {
    const reply = edit(at('/silent.png'), await aFundedAccount(gateway), 'narrow-image')
    silent = { reply, startedAt: performance.now(), endedAt: Infinity }
    reply.then(() => (silent.endedAt = performance.now())).catch(() => {})
    await until('the silent server to be asked', () => files.requests.some(({ url }) => url === '/silent.png'))
    const other = await ask(gateway, await aFundedAccount(gateway), IMAGE, prompted(), {
      more: { model: 'narrow-image' },
    })
    expect([other.status, silent.endedAt], other.text).to.deep.equal([200, Infinity])
  })
  beforeEach(async () => {
    account = await aFundedAccount(gateway)
  })
  afterEach(() => expect(canary.connections(), 'the canary was reached').to.equal(0))

  const at = (path: string): string => `http://public.example:${files.port}${path}`
  const edit = (image_url: string, who = account, model = 'openai-image'): Promise<Reply> =>
    ask(gateway, who, IMAGE, prompted(), { more: { image_url, model } })
  const picturing = (text: string, ...pictures: unknown[]) => [
    {
      role: 'user',
      content: [{ type: 'text', text }, ...pictures.map((image_url) => ({ type: 'image_url', image_url }))],
    },
  ]
  /** A call with an address, of each modality. */
  const askWith = (target: Target, url: string, prompt = prompted(), more: object = {}): Promise<Reply> =>
    ask(gateway, account, target, prompt, {
      more: {
        ...more,
        ...(target.modality === 'chat' ? { messages: picturing(prompt, { url }, { url }) } : { image_url: url }),
      },
    })

  function expectUnfetched({ status, text, json }: Reply, about: string): void {
    expect(status, `${about}: ${text}`).to.equal(502)
    expect(json.error.message, about).to.equal(UNFETCHED)
  }

  it('leave the calls of other accounts alone, however slow the servers of twenty of one account are', async () => {
    const other = await aFundedAccount(gateway)
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
    for (const reply of await Promise.all(slow)) expectUnfetched(reply, 'held')
    expect(await balanceOf(gateway.db, account.id)).to.equal(FUNDS)
  })

  it('fail with one sentence, whatever the reason', async () => {
    const closed = createSocketServer().listen(0, '127.0.0.1')
    await once(closed, 'listening')
    const { port } = closed.address() as AddressInfo
    closed.close()
    const urls = [
      `http://public.example:${port}/`,
      at('/').replace('http:', 'https:'),
      'http://nowhere.example/',
      ...['missing', 'slow', 'page', 'cut', 'bomb', 'port'].map((name) => at(`/${name}.png`)),
    ]
    await Promise.all(urls.map(async (url) => expectUnfetched(await edit(url), url)))
    expect(await balanceOf(gateway.db, account.id)).to.equal(FUNDS)
  })

  for (const target of [CHAT, TASK]) {
    it(`are sent as data to an upstream with fetchImages: ${target.protocol} ${target.modality}`, async () => {
      const model = target === CHAT ? 'kept-chat-chat' : 'kept-task-image'
      const prompt = prompted()
      const reply = await askWith(target, at('/pixel.png'), prompt, { model })
      expect(reply.status, reply.text).to.equal(200)
      const sent = JSON.stringify(gateway.sandbox.journal(prompt)[0]!.body)
      expect(sent).to.include(PIXEL)
      expect(sent).to.not.include('public.example')
      const unresolved = prompted()
      expectUnfetched(await askWith(target, 'http://nowhere.example/x.png', unresolved, { model }), 'unresolved')
      expect(gateway.sandbox.journal(unresolved), 'nothing was sent').to.deep.equal([])
    })
  }

  it('are passed on where they do not resolve, only to upstreams that fetch by themselves', async () => {
    const url = 'https://nowhere.example/x.png'
    const fetching: Target[] = [CHAT, { protocol: 'openai', modality: 'chat' }, TASK]
    for (const target of [...fetching, { protocol: 'replicate', modality: 'video' } as const]) {
      const prompt = prompted()
      const reply = await askWith(target, url, prompt)
      expect(reply.status, `${target.protocol} ${reply.text}`).to.equal(200)
      expect(JSON.stringify(gateway.sandbox.journal(prompt)[0]!.body), target.protocol).to.include(url)
    }
    for (const modality of ['image', 'video'] as const)
      expectUnfetched(await askWith({ protocol: 'openai', modality }, url), modality)
  })

  it('are refused before a charge where they are spelled privately, in every field that is fetched', async () => {
    for (const url of [`http://2130706433:${canary.port}/x.png`, 'file:///etc/passwd']) {
      const given = [{ url }, url, { url, detail: 'low' }]
      const chats = given.map((one) => ({ target: CHAT, more: { messages: picturing('Look', one) } }))
      const media = [TASK, { ...IMAGE, modality: 'video' } as const]
      for (const { target, more } of [...chats, ...media.map((target) => ({ target, more: { image_url: url } }))]) {
        const reply = await ask(gateway, account, target, prompted(), { more })
        const param = target === CHAT ? 'messages[0].content[1].image_url' : 'image_url'
        expect(reply.status, reply.text).to.equal(400)
        expect(reply.json.error, param).to.include({ type: 'invalid_request', param })
        expect(await movementsOf(gateway.db, reply)).to.deep.equal([])
      }
    }
  })

  for (const target of [CHAT, IMAGE, TASK]) {
    it(`fail the call before anything is sent where a name leads inside: ${target.protocol}`, async () => {
      for (const name of INSIDE) {
        const prompt = prompted()
        expectUnfetched(await askWith(target, `http://${name}:${canary.port}/x.png`, prompt), name)
        expect(gateway.sandbox.journal(prompt), name).to.deep.equal([])
      }
      expect(await balanceOf(gateway.db, account.id)).to.equal(FUNDS)
    })
  }

  it('are not followed inside from a result, however they are written, by a name, or after a redirect', async () => {
    const hosts = [`[::ffff:7f00:1]:${canary.port}`, '169.254.169.254', ...INSIDE.map((one) => `${one}:${canary.port}`)]
    const words = hosts.flatMap((host) => [`[result-url http://${host}/x.png]`, `[redirect http://${host}/x.png]`])
    await Promise.all(
      words.map(async (word) => {
        const reply = await ask(gateway, account, TASK, prompted(word))
        expect(reply.status, `${word}: ${reply.text}`).to.equal(502)
        expect(reply.json.error.message, word).to.match(
          /^The result was not fetched: The address leads into a network that is not public|could not produce/,
        )
      }),
    )
    expect(await balanceOf(gateway.db, account.id)).to.equal(FUNDS)
  })

  it('are passed on unread if the operator wants results at their own address', async () => {
    const url = `http://127.0.0.1:${canary.port}/x.png`
    const reply = await ask(gateway, account, IMAGE, prompted(`[result-url ${url}]`), {
      more: { model: 'linking-image' },
    })
    expect(reply.status, reply.text).to.equal(200)
    expect(reply.json.data).to.deep.equal([{ url }])
  })

  it('are fetched in a time for all together, before a place at the upstream is taken', async () => {
    expectUnfetched(await silent.reply, 'silent')
    expect(silent.endedAt - silent.startedAt).to.be.within(0.75 * TOTAL_MS, 1.9 * TOTAL_MS)
  }).timeout(120_000)
})
