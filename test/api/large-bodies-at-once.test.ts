import { expect } from 'chai'
import { createSandbox } from '../../sandbox/server.ts'
import type { Sandbox } from '../../sandbox/server.ts'
import { anAccount } from '../../scripts/harness/factories.ts'
import type { Installation, Program } from '../../scripts/harness/installation.ts'
import { install } from '../../scripts/harness/installation.ts'
import { expectBooksToBalance } from '../support/books.ts'

const MEGABYTE = 1024 * 1024
const HEAP_MB = 512
const ACCOUNTS = 12

/** In the place of a status. */
const CLOSED = 0

const MODEL = { model: 'sandbox-chat', max_tokens: 9 }
const saying = (content: unknown) => ({ ...MODEL, messages: [{ role: 'user', content }] })
const textOf = (piece: string, megabytes: number): string =>
  piece.repeat((megabytes * MEGABYTE) / Buffer.byteLength(piece))
const listOf = <T>(length: number, one: (at: number) => T): T[] => Array.from({ length }, (_one, at) => one(at))

type Attack = { path: '/v1/messages' | '/v1/messages/count_tokens' | '/v1/responses'; body: () => object }

/** Each is sent by accounts with and without credits at once. Add what a body may be made of. */
const ATTACKS: Record<string, Attack> = {
  'one text': { path: '/v1/messages', body: () => saying(textOf('a', 31)) },
  'a text of two-byte units': { path: '/v1/messages', body: () => saying(`漢${textOf('a', 31)}`) },
  'a text to count': { path: '/v1/messages/count_tokens', body: () => saying(textOf('😀', 31)) },
  'an address': {
    path: '/v1/responses',
    body: () => ({
      model: 'sandbox-chat',
      input: [{ role: 'user', content: [{ type: 'input_image', image_url: textOf('😀', 31) }] }],
    }),
  },
  'tiny blocks': {
    path: '/v1/messages',
    body: () => ({
      ...MODEL,
      messages: listOf(20_000, () => saying(listOf(7, () => ({ type: 'text', text: 'a' }))).messages[0]),
    }),
  },
  faults: { path: '/v1/messages', body: () => ({ ...saying('a'), system: listOf(500_000, () => 1) }) },
  keys: {
    path: '/v1/responses',
    body: () => ({
      model: 'sandbox-chat',
      input: 'a',
      metadata: Object.fromEntries(listOf(400_000, (at) => [`k${at}`, at])),
    }),
  },
  tools: {
    path: '/v1/messages',
    body: () => ({
      ...saying('a'),
      tools: listOf(512, (at) => ({
        name: `tool_${at}`,
        input_schema: { properties: Object.fromEntries(listOf(400, (nth) => [`${'p'.repeat(60)}${nth}`, {}])) },
      })),
    }),
  },
}

describe('a web process with a heap of 512 MB', () => {
  let sandbox: Sandbox
  let installation: Installation
  let web: Program
  before(async () => {
    sandbox = await createSandbox({})
    installation = await install(sandbox)
    web = await installation.start('web', { NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}` })
  })
  after(async () => {
    await expectBooksToBalance(installation.db)
    await installation.end()
    await sandbox.close()
  })

  it('survives the largest bodies of twelve accounts at once, and answers others', async () => {
    const accounts = await Promise.all(
      listOf(ACCOUNTS, (at) => anAccount(installation.db, at % 2 === 0 ? 100_000 : undefined)),
    )
    const bodies = Object.values(ATTACKS).map(({ path, body }) => ({ path, text: JSON.stringify(body()) }))
    const statuses: number[] = []
    const attack = async (key: string, at: number): Promise<void> => {
      const { path, text } = bodies[at % bodies.length]!
      const sent = fetch(`${web.url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${key}`, prefer: 'respond-async' },
        body: text,
      })
      // A body that is refused while it is sent ends its connection.
      statuses.push(await sent.then(async (response) => (await response.text(), response.status)).catch(() => CLOSED))
    }
    const attacks = Promise.all(accounts.flatMap(({ key }, at) => [attack(key, at), attack(key, at + 5)]))
    let isOver = false
    const over = attacks.finally(() => {
      isOver = true
    })
    while (!isOver) expect((await fetch(`${web.url}/healthz`)).status).to.equal(200)
    await over
    expect(web.end, web.log()).to.equal(null)
    expect((await fetch(`${web.url}/healthz`)).status).to.equal(200)
    for (const status of statuses) expect(status).to.be.oneOf([200, 202, 400, 402, 429, 503, CLOSED])
  })
})
