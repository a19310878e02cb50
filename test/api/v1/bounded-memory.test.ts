import { expect } from 'chai'
import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { openSession } from '../../../src/shared/identity/sessions.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import { TRANSCRIPTIONS } from '../../../scripts/harness/calling.ts'
import { get } from '../../../scripts/harness/http.ts'
import type { Program } from '../../../scripts/harness/installation.ts'
import { aStoredChat, neverReads, responsesWithPictures } from '../../support/stored-answers.ts'
import { watched } from '../../support/watched.ts'
import type { Watched } from '../../support/watched.ts'
import { useInstallation } from '../../support/installed.ts'
import { LARGEST, WORST } from '../../shared/media-files/worst-cases.ts'

const MEGABYTE = 1024 * 1024
const MAX_MB = 450
const MAX_MS = 500
const HEAP_MB = 512
const ACCOUNTS = 10

/** How many clients of each account ask for items of 28 MB and read nothing. */
const READERS = 4

/** After how long a client sends its body again, in ms: it is some 30 MB. */
const AGAIN_MS = 3000

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

const SOUND = 'Ogg of empty packets'

type Attack = { path: `/v1/${string}`; body: () => object }

/**
 * Each is sent by accounts with and without credits at once. Add what a body may be made of. Lists of faults and of
 * keys: calls/large-lists.test.ts.
 */
const ATTACKS: Record<string, Attack> = {
  'a text of two-byte units': { path: '/v1/messages', body: () => saying(`漢${textOf('a', 31)}`) },
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
  'a file of sound': { path: TRANSCRIPTIONS, body: () => formOf(WORST[SOUND]!(LARGEST[SOUND]!)) },
}

type Bytes = { name: string; path: string; type: string; bytes: Buffer<ArrayBuffer> }

async function bytesOf([name, { path, body }]: [string, Attack]): Promise<Bytes> {
  const made = body()
  const whole = made instanceof FormData ? new Response(made) : Response.json(made)
  return { name, path, type: whole.headers.get('content-type')!, bytes: Buffer.from(await whole.arrayBuffer()) }
}

describe('the memory of a web process', function () {
  // The last readers get their turn once those that do not read have lost theirs.
  this.timeout(150_000)
  const own = useInstallation()
  let web: Program
  before(async () => {
    web = await own.start('web')
  })

  const expectBounded = ({ mb, ms }: Watched): void => {
    expect(mb, 'MB').to.be.below(MAX_MB)
    expect(ms, 'ms that /healthz was blocked').to.be.below(MAX_MS)
  }

  it('stays under 450 MB with 16 readers of 4 MB answers and 24 that never read, and answers quickly', async () => {
    const account = await anAccount(own.db, 1000)
    const silent = await anAccount(own.db, 1000)
    const content = `${'a'.repeat(MEGABYTE)}${'é'.repeat(MEGABYTE / 2)}${'"\\'.repeat(MEGABYTE / 2)}`
    const path = await aStoredChat(own.db, account, content)
    const theirs = await aStoredChat(own.db, silent, content)
    const readers: Socket[] = []
    const seen = await watched(web, async () => {
      readers.push(...(await Promise.all(Array.from({ length: 24 }, () => neverReads(web.url, theirs, silent)))))
      const replies = await Promise.all(Array.from({ length: 16 }, () => get(`${web.url}${path}`, account.key)))
      for (const { status, text } of replies) expect([status, text.length > content.length]).to.deep.equal([200, true])
    })
    for (const socket of readers) socket.destroy()
    expectBounded(seen)
  })

  it('stays under 450 MB with readers that do not read the largest answers of every GET', async () => {
    const accounts = await Promise.all(Array.from({ length: 2 }, () => anAccount(own.db, 1000)))
    const { paths } = (await get(`${web.url}/openapi.json`)).json as { paths: Record<string, { get?: object }> }
    const known = Object.keys(paths).filter((path) => paths[path]!.get)
    expect(known).to.include.members(['/v1/responses/{id}/input_items', '/v1/calls/{id}', '/api/exports/calls'])
    const readers: Socket[] = []
    const calls = await responsesWithPictures(own.db, accounts)
    const items: string[] = []
    let last: Awaited<ReturnType<typeof get>>[] = []
    const seen = await watched(web, async () => {
      for (const [at, account] of accounts.entries()) {
        const call = calls[at]!
        const { id: accountId, userId } = account
        const owner = { userId, accountId, passwordHash: 'none', userAgent: '', ip: '' }
        const { token } = (await openSession(own.db, owner))!
        items.push(`/v1/responses/${call.replace('call_', 'resp_')}/input_items`)
        for (const pattern of known) {
          const isResponse = pattern.includes('/responses/')
          const path = pattern.replaceAll(/\{\w+\}/g, isResponse ? call.replace('call_', 'resp_') : call)
          const holder = path.startsWith('/v1') ? account : { key: token }
          const times = isResponse ? 4 : 1
          const begun = Array.from({ length: times }, () => neverReads(web.url, path, holder))
          readers.push(...(await Promise.all(begun)))
        }
      }
      // They wait for their turn behind those of their accounts.
      last = await Promise.all(accounts.map((one, at) => get(`${web.url}${items[at]!}`, one.key)))
    })
    for (const socket of readers) socket.destroy()
    for (const { status } of last) expect(status).to.be.oneOf([200, 503])
    expectBounded(seen)
  })

  it('is enough at 512 MB for the largest bodies and unread pages of ten accounts at once', async () => {
    const small = await own.start('web', { NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}` })
    const accounts = await Promise.all(listOf(ACCOUNTS, (at) => anAccount(own.db, at % 2 === 0 ? 100_000 : 1)))
    const attacks = await Promise.all(Object.entries(ATTACKS).map(bytesOf))
    const refused: number[] = []
    const considered = new Map<string, number>()
    const send = ({ path, type, bytes }: Bytes, { key }: TestAccount): Promise<number> => {
      const headers = { 'content-type': type, authorization: `Bearer ${key}`, prefer: 'respond-async' }
      const answer = fetch(`${small.url}${path}`, { method: 'POST', headers, body: bytes })
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
      accounts.flatMap((account, at) => listOf(READERS, () => neverReads(small.url, paths[at]!, account))),
    )
    const all = Promise.all(listOf(ACCOUNTS, attack))
    let isOver = false
    const over = all.finally(() => {
      isOver = true
    })
    while (!isOver) {
      expect((await fetch(`${small.url}/healthz`)).status).to.equal(200)
      await pause(100)
    }
    await over
    for (const socket of readers) socket.destroy()
    expect(small.end, small.log()).to.equal(null)
    expect((await fetch(`${small.url}/healthz`)).status).to.equal(200)
    // One credit pays for a file that has next to no sound.
    for (const status of refused) expect(status).to.be.oneOf([200, 402, ...LATER])
    expect([...considered.keys()]).to.have.members(Object.keys(ATTACKS))
    for (const [name, status] of considered) expect(status, name).to.be.oneOf([200, 202, 400, 402])
    // Some 500 MB are sent, checked and measured, mostly one after the other.
  }).timeout(300_000)
})
