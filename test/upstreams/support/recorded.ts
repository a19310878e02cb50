import { existsSync, readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { root } from '../../../scripts/folders.ts'
import type { Listening } from '../../workers/fetching/servers.ts'
import { serve } from '../../workers/fetching/servers.ts'

const FOLDER = join(root, 'test/upstreams/answers')

type Answer = { status: number; headers: [string, string][]; body: Buffer }

/** A recorded answer: a status line, headers, an empty line, and the bytes of the body. */
function answerIn(...files: string[]): Answer {
  const path = files.map((file) => join(FOLDER, `${file}.http`)).find((one) => existsSync(one))
  if (path === undefined) throw new Error(`there is no ${files.join(' or ')}`)
  const bytes = readFileSync(path)
  const end = bytes.indexOf('\r\n\r\n')
  const [status = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n')
  const headers = lines.map((line): [string, string] => {
    const at = line.indexOf(': ')
    return [line.slice(0, at), line.slice(at + 2)]
  })
  return { status: Number(status.split(' ')[1]), headers, body: bytes.subarray(end + 4) }
}

/**
 * How an answer is sent, which bytes alone cannot say. `waitMs`: the pause before its status, in ms; `eachMs`: before
 * each further event; `silentMs`: behind the first event.
 */
type Manner = {
  end?: 'reset' | 'close' | 'hang'
  byByte?: true
  waitMs?: number
  eachMs?: number
  silentMs?: number
}

const MANNERS: Record<string, Manner> = {
  'sse-bytes': { byByte: true },
  'reset-after-finish': { end: 'reset' },
  'reset-after-done': { end: 'reset' },
  'hang-after-finish': { end: 'hang' },
  'close-mid': { end: 'close' },
  // Longer than the 15 s after which a gateway gives a sign of life.
  'slow-long': { eachMs: 700 },
  silent: { silentMs: 16_500 },
  'img-slow': { waitMs: 16_500 },
}

type Step = 'submit' | 'poll' | 'status' | 'content' | 'cancel'

const VIDEO = {
  submit: ['video-queued'],
  poll: ['video-running', 'video-completed'],
  content: ['clip'],
  cancel: ['video-deleted'],
}
const FAL = {
  submit: ['fal-queued'],
  status: ['fal-running', 'fal-completed'],
  poll: ['fal-result'],
  cancel: ['fal-cancelled'],
}

/** The answers to the first, second, … request of each step of a task; the last one stays. */
const TASKS: Record<string, Partial<Record<Step, string[]>>> = {
  'v-ok': VIDEO,
  'v-poll-401-once': { ...VIDEO, poll: ['refused-401', 'video-running', 'video-completed'] },
  'v-content-404-once': { ...VIDEO, content: ['refused-404', 'clip'] },
  'v-content-400-once': { ...VIDEO, content: ['refused-400', 'clip'] },
  'v-content-403-once': { ...VIDEO, content: ['refused-403', 'clip'] },
  'v-content-404-always': { ...VIDEO, content: ['refused-404'] },
  'v-queued-524': { ...VIDEO, submit: ['524.whole'] },
  'v-content-206': { ...VIDEO, content: ['clip-206'] },
  'v-made-gzip': { ...VIDEO, submit: ['video-queued-gzip'] },
  'v-status-succeeded': { ...VIDEO, poll: ['video-running', 'video-succeeded'] },
  'v-status-SUCCESS': { ...VIDEO, poll: ['video-running', 'video-SUCCESS'] },
  'v-status-COMPLETED': { ...VIDEO, poll: ['video-running', 'video-COMPLETED'] },
  'v-status-FAILURE': { ...VIDEO, poll: ['video-FAILURE'] },
  'v-status-error': { ...VIDEO, poll: ['video-error'] },
  'v-status-canceled': { ...VIDEO, poll: ['video-canceled'] },
  'v-error-no-status': { ...VIDEO, poll: ['video-only-error'] },
  'f-ok': FAL,
  'f-no-cancel': { ...FAL, submit: ['fal-queued-no-cancel'] },
  'f-other-host': { ...FAL, submit: ['fal-queued-other-host'] },
}

/** A request that came, and the case that its text names. */
export type Seen = { name: string; method: string; path: string; text: string; step: Step | null }

/**
 * An upstream that answers recorded bytes: those of `test/upstreams/answers/NAME.stream.http` or `NAME.whole.http` for
 * a prompt with `[case NAME]`, whichever is asked for, else the one that there is. Below `/b/` it answers `default`.
 */
export type Recorded = Listening & {
  /** The requests that named a case. */
  seen: (name: string) => Seen[]
}

/** Starts the upstream of recorded answers. */
export async function startRecorded(): Promise<Recorded> {
  const seen: Seen[] = []
  const counts = new Map<string, number>()
  const count = (key: string): number => {
    counts.set(key, (counts.get(key) ?? 0) + 1)
    return counts.get(key)!
  }
  const answerTo = (one: Seen, task: string): Answer => {
    const { name, path, text, step } = one
    if (path.startsWith('/file/')) return answerIn(path.slice('/file/'.length))
    if (step !== null) {
      const files = TASKS[name]![step] ?? []
      return answerIn(files[Math.min(count(`${task} ${step}`), files.length) - 1]!)
    }
    const kinds = /"stream":true/.test(text) ? ['stream', 'whole'] : ['whole', 'stream']
    return answerIn(...kinds.map((kind) => `${name}.${kind}`))
  }
  const server = await serve((request, response) => {
    let text = ''
    request
      .setEncoding('utf8')
      .on('data', (piece: string) => {
        text += piece
      })
      .on('end', () => {
        const path = request.url ?? ''
        const named = /\[case ([\w-]+)\]/.exec(text)?.[1] ?? /([\w-]+)__\d+/.exec(path)?.[1] ?? 'default'
        const step = named in TASKS && !path.startsWith('/file/') ? stepOf(request) : null
        const one = { name: named, method: request.method ?? '', path, text, step }
        seen.push(one)
        const task = /[\w-]+__\d+/.exec(path)?.[0] ?? `${named}__${step === 'submit' ? count(named) : 0}`
        const name = path.startsWith('/b/') ? 'default' : named
        const origin = `http://${request.headers.host}`
        void send(response, filled(answerTo({ ...one, name }, task), { id: task, origin }), MANNERS[name] ?? {})
      })
  })
  return Object.assign(server, { seen: (name: string) => seen.filter((one) => one.name === name) })
}

function stepOf({ method, url = '' }: IncomingMessage): Step {
  if (method === 'DELETE' || url.endsWith('/cancel')) return 'cancel'
  if (method === 'POST') return 'submit'
  if (url.endsWith('/content')) return 'content'
  return url.endsWith('/status') ? 'status' : 'poll'
}

/** The body with the task's id and this server's address in it; `other` is the same server under another name. */
function filled(answer: Answer, { id, origin }: { id: string; origin: string }): Answer {
  const words: Record<string, string> = { id, origin, other: origin.replace('127.0.0.1', 'localhost') }
  const text = answer.body.toString('latin1').replace(/\{\{(id|origin|other)\}\}/g, (_, word: string) => words[word]!)
  return { ...answer, body: Buffer.from(text, 'latin1') }
}

async function send(response: ServerResponse, { status, headers, body }: Answer, manner: Manner): Promise<void> {
  response.on('error', () => {})
  if (manner.waitMs) await sleep(manner.waitMs)
  response.writeHead(status, Object.fromEntries(headers)).flushHeaders()
  for (const [nth, piece] of piecesOf(body, manner).entries()) {
    const pauseMs = nth === 0 ? 0 : (manner.eachMs ?? (nth === 1 ? manner.silentMs : 0))
    if (pauseMs) await sleep(pauseMs)
    if (response.destroyed) return
    await new Promise((done) => response.write(piece, done))
  }
  if (!manner.end) return void response.end()
  if (manner.end === 'hang') return
  await sleep(30)
  if (manner.end === 'reset') response.socket?.resetAndDestroy()
  else response.socket?.destroySoon()
}

function piecesOf(body: Buffer, { byByte, eachMs, silentMs }: Manner): Buffer[] {
  if (byByte) return Array.from(body, (byte) => Buffer.from([byte]))
  if (eachMs === undefined && silentMs === undefined) return [body]
  return body
    .toString('latin1')
    .split(/(?<=\n\n)/)
    .map((event) => Buffer.from(event, 'latin1'))
}
