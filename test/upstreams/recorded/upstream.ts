import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { root } from '../../../scripts/folders.ts'
import { PIXEL } from '../../support/pixel.ts'
import type { Listening } from '../../workers/fetching/servers.ts'
import { serve } from '../../workers/fetching/servers.ts'
import type { Answer } from './answers.ts'
import { answerOf } from './answers.ts'

const CLIP = readFileSync(join(root, 'test/workers/storage/fixtures/plain.mp4'))

/** The files that answers name. */
const FILES: Record<string, Answer> = {
  clip: { status: 200, headers: { 'content-type': 'video/mp4' }, body: CLIP },
  'clip-206': {
    status: 206,
    headers: { 'content-type': 'video/mp4', 'content-range': `bytes 0-${CLIP.length - 1}/${CLIP.length}` },
    body: CLIP,
  },
  picture: { status: 200, headers: { 'content-type': 'image/png' }, body: Buffer.from(PIXEL, 'base64') },
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
  'openai-sse-bytes': { byByte: true },
  'openai-reset-after-finish': { end: 'reset' },
  'openai-reset-after-done': { end: 'reset' },
  'openai-hang-after-finish': { end: 'hang' },
  'openai-close-mid': { end: 'close' },
  // Longer than the 15 s after which a gateway gives a sign of life.
  'openai-slow-long': { eachMs: 850 },
  'openai-late': { waitMs: 16_500 },
  'openai-silent': { silentMs: 16_500 },
  'openai-image-slow': { waitMs: 16_500 },
}

type Step = 'submit' | 'poll' | 'status' | 'content' | 'cancel'

const VIDEO = {
  submit: ['openai-video-queued'],
  poll: ['openai-video-running', 'openai-video-completed'],
  content: ['clip'],
  cancel: ['openai-video-deleted'],
}
const FAL = {
  submit: ['fal-queued'],
  status: ['fal-running', 'fal-completed'],
  poll: ['fal-result'],
  cancel: ['fal-cancelled'],
}

/** The answers to the first, second, … request of each step of a task; the last one stays. */
const TASKS: Record<string, Partial<Record<Step, string[]>>> = {
  'openai-video-ok': VIDEO,
  'openai-video-poll-401-once': {
    ...VIDEO,
    poll: ['openai-video-401', 'openai-video-running', 'openai-video-completed'],
  },
  'openai-video-content-404-once': { ...VIDEO, content: ['openai-video-404', 'clip'] },
  'openai-video-content-400-once': { ...VIDEO, content: ['openai-video-400', 'clip'] },
  'openai-video-content-403-once': { ...VIDEO, content: ['openai-video-403', 'clip'] },
  'openai-video-content-404-always': { ...VIDEO, content: ['openai-video-404'] },
  'openai-video-queued-524': { ...VIDEO, submit: ['cloudflare-524'] },
  'openai-video-content-206': { ...VIDEO, content: ['clip-206'] },
  'openai-video-made-gzip': { ...VIDEO, submit: ['openai-video-queued-gzip'] },
  'openai-video-status-succeeded': { ...VIDEO, poll: ['openai-video-running', 'openai-video-succeeded'] },
  'openai-video-status-SUCCESS': { ...VIDEO, poll: ['openai-video-running', 'openai-video-SUCCESS'] },
  'openai-video-status-COMPLETED': { ...VIDEO, poll: ['openai-video-running', 'openai-video-COMPLETED'] },
  'openai-video-status-FAILURE': { ...VIDEO, poll: ['openai-video-FAILURE'] },
  'openai-video-status-error': { ...VIDEO, poll: ['openai-video-error'] },
  'openai-video-status-canceled': { ...VIDEO, poll: ['openai-video-canceled'] },
  'openai-video-error-no-status': { ...VIDEO, poll: ['openai-video-only-error'] },
  'fal-video-ok': FAL,
  'fal-video-no-cancel': { ...FAL, submit: ['fal-queued-no-cancel'] },
  'fal-video-other-host': { ...FAL, submit: ['fal-queued-other-host'] },
}

/** A request that came, and the case that its text names. */
export type Seen = { name: string; method: string; path: string; text: string; step: Step | null }

/**
 * An upstream that answers recorded bytes: those of NAME (./answers.txt) for a prompt with `[case NAME]`. Below `/b/`
 * it answers `openai-default`.
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
  const answerTo = ({ name, path, text, step }: Seen, task: string, origin: string): Answer => {
    if (path.startsWith('/file/')) return FILES[path.slice('/file/'.length)]!
    // `other` is the same server under another name.
    const fields = { id: task, origin, other: origin.replace('127.0.0.1', 'localhost') }
    const isStream = /"stream":true/.test(text) || path.includes(':stream')
    if (step === null) return answerOf(name, isStream ? 'stream' : 'whole', fields)
    const steps = TASKS[name]![step] ?? []
    const answer = steps[Math.min(count(`${task} ${step}`), steps.length) - 1]!
    return FILES[answer] ?? answerOf(answer, 'whole', fields)
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
        const named = /\[case ([\w-]+)\]/.exec(text)?.[1] ?? /([\w-]+)__\d+/.exec(path)?.[1] ?? 'openai-default'
        const step = named in TASKS && !path.startsWith('/file/') ? stepOf(request) : null
        const one = { name: named, method: request.method ?? '', path, text, step }
        seen.push(one)
        const task = /[\w-]+__\d+/.exec(path)?.[0] ?? `${named}__${step === 'submit' ? count(named) : 0}`
        const name = path.startsWith('/b/') ? 'openai-default' : named
        const origin = `http://${request.headers.host}`
        void send(response, answerTo({ ...one, name }, task, origin), MANNERS[name] ?? {})
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

async function send(response: ServerResponse, { status, headers, body }: Answer, manner: Manner): Promise<void> {
  response.on('error', () => {})
  if (manner.waitMs) await sleep(manner.waitMs)
  response.writeHead(status, headers).flushHeaders()
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
