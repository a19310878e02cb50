import { expect } from 'chai'
import { createSandbox } from '../../sandbox/server.ts'
import type { Sandbox } from '../../sandbox/server.ts'
import { anAccount } from '../../scripts/harness/factories.ts'
import type { Installation, Program } from '../../scripts/harness/installation.ts'
import { install } from '../../scripts/harness/installation.ts'
import { TRANSCRIPTIONS } from '../../scripts/harness/calling.ts'
import { LARGEST, WORST } from '../shared/sound/worst-cases.ts'
import { expectBooksToBalance } from '../support/books.ts'
import { neverReads, responsesWithPictures } from '../support/stored-answers.ts'

const MEGABYTE = 1024 * 1024
const HEAP_MB = 512
const ACCOUNTS = 12

/** How many clients of each account ask for items of 28 MB and read nothing. */
const READERS = 4

/** In the place of a status. */
const CLOSED = 0

const MODEL = { model: 'sandbox-chat', max_tokens: 9 }
const saying = (content: unknown) => ({ ...MODEL, messages: [{ role: 'user', content }] })
const textOf = (piece: string, megabytes: number): string =>
  piece.repeat((megabytes * MEGABYTE) / Buffer.byteLength(piece))
const listOf = <T>(length: number, one: (at: number) => T): T[] => Array.from({ length }, (_one, at) => one(at))

function formOf(file: Buffer): FormData {
  const form = new FormData()
  form.append('model', 'sandbox-transcription')
  form.append('file', new Blob([new Uint8Array(file)]), 'speech')
  return form
}

type Attack = { path: `/v1/${string}`; body: () => object }

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
  ...Object.fromEntries(
    ['Ogg of empty packets', 'WebM of laces', 'WebM of empty elements', 'M4A of entries'].map(
      (name): [string, Attack] => [name, { path: TRANSCRIPTIONS, body: () => formOf(WORST[name]!(LARGEST[name]!)) }],
    ),
  ),
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
    const accounts = await Promise.all(listOf(ACCOUNTS, (at) => anAccount(installation.db, at % 2 === 0 ? 100_000 : 1)))
    const bodies = Object.values(ATTACKS).map(({ path, body }) => {
      const sent = body()
      const isForm = sent instanceof FormData
      const type: Record<string, string> = isForm ? {} : { 'content-type': 'application/json' }
      return { path, type, sent: isForm ? sent : JSON.stringify(sent) }
    })
    const statuses: number[] = []
    const attack = async (key: string, at: number): Promise<void> => {
      const { path, type, sent } = bodies[at % bodies.length]!
      const headers = { ...type, authorization: `Bearer ${key}`, prefer: 'respond-async' }
      const answer = fetch(`${web.url}${path}`, { method: 'POST', headers, body: sent })
      // A body that is refused while it is sent ends its connection.
      statuses.push(await answer.then(async (response) => (await response.text(), response.status)).catch(() => CLOSED))
    }
    const calls = await responsesWithPictures(installation.db, accounts)
    const paths = calls.map((call) => `/v1/responses/${call.replace('call_', 'resp_')}/input_items`)
    const readers = await Promise.all(
      accounts.flatMap((account, at) => listOf(READERS, () => neverReads(web.url, paths[at]!, account))),
    )
    const attacks = Promise.all(accounts.flatMap(({ key }, at) => [attack(key, at), attack(key, at + 5)]))
    let isOver = false
    const over = attacks.finally(() => {
      isOver = true
    })
    while (!isOver) expect((await fetch(`${web.url}/healthz`)).status).to.equal(200)
    await over
    for (const socket of readers) socket.destroy()
    expect(web.end, web.log()).to.equal(null)
    expect((await fetch(`${web.url}/healthz`)).status).to.equal(200)
    console.log(String(statuses))
    for (const status of statuses) expect(status).to.be.oneOf([200, 202, 400, 402, 429, 503, CLOSED])
  })
})
