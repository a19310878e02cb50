import { expect } from 'chai'
import { setTimeout as pause } from 'node:timers/promises'
import type { TestAccount } from '../../scripts/harness/factories.ts'
import { anAccount } from '../../scripts/harness/factories.ts'
import { TRANSCRIPTIONS } from '../../scripts/harness/calling.ts'
import { LARGEST, WORST } from '../shared/media-files/worst-cases.ts'
import { neverReads, responsesWithPictures } from '../support/stored-answers.ts'
import { useInstallation } from '../support/installed.ts'

const MEGABYTE = 1024 * 1024
const HEAP_MB = 512
const ACCOUNTS = 12

/** How many clients of each account ask for items of 28 MB and read nothing. */
const READERS = 4

/** After how long a client sends its body again, in ms: it is some 30 MB. */
const AGAIN_MS = 1500

/** In the place of a status. */
const CLOSED = 0

/** Of a body for which there is no room now, or that others held up. */
const LATER = [408, 429, 503, CLOSED]

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
    ['Ogg of empty packets', 'WebM of empty elements'].map((name): [string, Attack] => [
      name,
      { path: TRANSCRIPTIONS, body: () => formOf(WORST[name]!(LARGEST[name]!)) },
    ]),
  ),
}

type Bytes = { name: string; path: string; type: string; bytes: Buffer<ArrayBuffer> }

async function bytesOf([name, { path, body }]: [string, Attack]): Promise<Bytes> {
  const made = body()
  const whole = made instanceof FormData ? new Response(made) : Response.json(made)
  return { name, path, type: whole.headers.get('content-type')!, bytes: Buffer.from(await whole.arrayBuffer()) }
}

describe('a web process with a heap of 512 MB', () => {
  const own = useInstallation()

  it('survives the largest bodies and unread pages of twelve accounts at once, and answers others', async () => {
    const web = await own.start('web', { NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}` })
    const accounts = await Promise.all(listOf(ACCOUNTS, (at) => anAccount(own.db, at % 2 === 0 ? 100_000 : 1)))
    const attacks = await Promise.all(Object.entries(ATTACKS).map(bytesOf))
    const refused: number[] = []
    const considered = new Map<string, number>()
    const send = ({ path, type, bytes }: Bytes, { key }: TestAccount): Promise<number> => {
      const headers = { 'content-type': type, authorization: `Bearer ${key}`, prefer: 'respond-async' }
      const answer = fetch(`${web.url}${path}`, { method: 'POST', headers, body: bytes })
      // A body that is refused while it is sent ends its connection.
      return answer.then(async (response) => (await response.text(), response.status)).catch(() => CLOSED)
    }
    const attack = async (at: number): Promise<void> => {
      const account = accounts[at % ACCOUNTS]!
      const body = attacks[(at >> 1) % attacks.length]!
      if (at % 2 === 1) return void refused.push(await send(body, account))
      let status = await send(body, account)
      for (; LATER.includes(status); status = await send(body, account)) await pause(AGAIN_MS)
      considered.set(body.name, status)
    }
    const calls = await responsesWithPictures(own.db, accounts)
    const paths = calls.map((call) => `/v1/responses/${call.replace('call_', 'resp_')}/input_items`)
    const readers = await Promise.all(
      accounts.flatMap((account, at) => listOf(READERS, () => neverReads(web.url, paths[at]!, account))),
    )
    const all = Promise.all(listOf(2 * attacks.length, attack))
    let isOver = false
    const over = all.finally(() => {
      isOver = true
    })
    while (!isOver) {
      expect((await fetch(`${web.url}/healthz`)).status).to.equal(200)
      await pause(100)
    }
    await over
    for (const socket of readers) socket.destroy()
    expect(web.end, web.log()).to.equal(null)
    expect((await fetch(`${web.url}/healthz`)).status).to.equal(200)
    // One credit pays for a file that has next to no sound.
    for (const status of refused) expect(status).to.be.oneOf([200, 402, ...LATER])
    expect([...considered.keys()]).to.have.members(Object.keys(ATTACKS))
    for (const [name, status] of considered) expect(status, name).to.be.oneOf([200, 202, 400, 402])
    // Some 800 MB are sent, checked and measured, mostly one after the other.
  }).timeout(300_000)
})
