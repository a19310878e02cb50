import { createHash } from 'node:crypto'
import { reportedTokens } from '../chat/answer.ts'
import type { Exchange, Route } from '../exchange.ts'
import { admit, answer, beginAnswer } from '../http/answer.ts'
import { cut, pause, writeOut } from '../http/outlet.ts'
import { withoutSteering } from '../steering.ts'
import { asText } from '../wire.ts'
import type { Fields } from '../wire.ts'
import { invalid } from './errors.ts'

/** Speech and transcriptions of OpenAI. */
export const audioRoutes: readonly Route[] = [
  {
    method: 'POST',
    path: '/v1/audio/speech',
    submission: ({ fields }) => ({ model: asText(fields['model']), prompt: asText(fields['input']) }),
    handle: speak,
  },
  ...(['transcriptions', 'translations'] as const).map((path): Route => ({
    method: 'POST',
    path: `/v1/audio/${path}`,
    submission: ({ fields }) => ({ model: asText(fields['model']), prompt: asText(fields['prompt']) }),
    handle: (exchange) => transcribe(exchange, path === 'translations' ? 'translate' : 'transcribe'),
  })),
]

const MAX_CHARACTERS = 4096

/** A frame of MP3, 128 kbit/s at 44.1 kHz, in which nothing is heard. */
const SILENT_FRAME = Buffer.concat([Buffer.from([0xff, 0xfb, 0x90, 0x00]), Buffer.alloc(413)])

/** Of PCM and WAV: samples of 16 bits a second, and those of a character. */
const RATE = 24_000
const SAMPLES = 1440

const SOUNDS: Readonly<Record<string, { type: string; of: (text: string) => Buffer }>> = {
  mp3: { type: 'audio/mpeg', of: (text) => Buffer.concat(Array.from(text, () => SILENT_FRAME)) },
  pcm: { type: 'audio/pcm', of: toneOf },
  wav: { type: 'audio/wav', of: (text) => wavOf(toneOf(text)) },
}

/** A tone for each character. */
function toneOf(text: string): Buffer {
  const samples = new Int16Array(text.length * SAMPLES)
  for (let at = 0; at < samples.length; at += 1) {
    const hertz = 200 + (text.charCodeAt(Math.floor(at / SAMPLES)) % 64) * 10
    samples[at] = Math.round(8000 * Math.sin((2 * Math.PI * hertz * at) / RATE))
  }
  return Buffer.from(samples.buffer)
}

function wavOf(samples: Buffer): Buffer {
  const head = Buffer.alloc(44)
  head.write('RIFF', 0)
  head.writeUInt32LE(36 + samples.length, 4)
  head.write('WAVEfmt ', 8)
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(RATE, 24)
  head.writeUInt32LE(2 * RATE, 28)
  head.writeUInt16LE(2, 32)
  head.writeUInt16LE(16, 34)
  head.write('data', 36)
  head.writeUInt32LE(samples.length, 40)
  return Buffer.concat([head, samples])
}

async function speak(exchange: Exchange): Promise<void> {
  const { fields } = exchange.body
  const input = asText(fields['input'])
  if (!exchange.model) throw invalid('you must provide a model parameter', 'model')
  if (!input) throw invalid("Missing required parameter: 'input'.", 'input')
  if (Array.from(input).length > MAX_CHARACTERS)
    throw invalid(`input must have at most ${MAX_CHARACTERS} characters`, 'input')
  if (!fields['voice']) throw invalid("Missing required parameter: 'voice'.", 'voice')
  const sound = SOUNDS[asText(fields['response_format']) || 'mp3']
  if (!sound) throw invalid('The sandbox speaks mp3, wav and pcm.', 'response_format')
  await admit(exchange, 'inline')
  if (!(await beginAnswer(exchange))) return
  exchange.res.writeHead(200, { 'content-type': sound.type })
  exchange.res.flushHeaders()
  if (exchange.steering['hang-body']) return
  await writeSound(exchange, exchange.steering.empty ? Buffer.alloc(0) : sound.of(withoutSteering(input) || ' '))
}

/** Writes sound in the pieces that were asked for, up to where it is to break off. */
async function writeSound(exchange: Exchange, sound: Buffer): Promise<void> {
  const { steering, res } = exchange
  const [count, ms] = steering.chunks ?? [4, 0]
  const size = Math.ceil(sound.length / count)
  for (let at = 0; at < count && at * size < sound.length; at += 1) {
    if (at > 0 && ms > 0 && !(await pause(exchange, ms))) return
    if (steering['reset-after'] === at) return cut(exchange)
    if (steering['hang-after'] === at) return
    if (!(await writeOut(exchange, sound.subarray(at * size, (at + 1) * size)))) return
  }
  res.end()
}

async function transcribe(exchange: Exchange, task: 'transcribe' | 'translate'): Promise<void> {
  const { fields, files } = exchange.body
  const file = files.find(({ field }) => field === 'file')
  if (!exchange.model) throw invalid('you must provide a model parameter', 'model')
  if (!file || file.bytes.length === 0) throw invalid("Missing required parameter: 'file'.", 'file')
  if (!/\.(wav|mp3|ogg|flac|m4a|webm)$/.test(file.name)) throw invalid('Unsupported file format.', 'file')
  const format = asText(fields['response_format']) || 'json'
  if (format !== 'json' && format !== 'verbose_json') throw invalid('The sandbox answers JSON.', 'response_format')
  await admit(exchange, 'inline')
  const text = exchange.steering.empty ? undefined : heard(exchange, file)
  const seconds = Math.max(1, Math.floor(file.bytes.length / 16_000))
  const told = reportedTokens(exchange.steering, { input: seconds, output: 0 })
  const usage = told ? { usage: { type: 'duration', seconds: told.input } } : {}
  if (format === 'json' || text === undefined) return answer(exchange, { text, ...usage })
  await answer(exchange, {
    task,
    language: 'english',
    duration: seconds,
    text,
    ...timesOf(text, seconds, fields),
    ...usage,
  })
}

/** What was heard follows from the bytes of the file. */
function heard({ steering, prompt }: Exchange, { bytes }: { bytes: Buffer }): string {
  if (steering.answer) return steering.answer
  if (steering.echo) return withoutSteering(prompt)
  return `Sandbox heard ${createHash('sha256').update(bytes).digest('hex').slice(0, 16)} in ${bytes.length} bytes.`
}

/** Two segments, and where they are asked for the words, spread evenly. */
function timesOf(text: string, seconds: number, fields: Fields): Fields {
  const words = text.split(' ')
  const at = (place: number): number => (seconds * place) / words.length
  const half = Math.ceil(words.length / 2)
  const segment = (id: number, from: number, to: number) => ({
    id,
    start: at(from),
    end: at(to),
    text: ` ${words.slice(from, to).join(' ')}`,
  })
  return {
    segments: [segment(0, 0, half), ...(half < words.length ? [segment(1, half, words.length)] : [])],
    ...([fields['timestamp_granularities[]']].flat().includes('word') && {
      words: words.map((word, place) => ({ word, start: at(place), end: at(place + 1) })),
    }),
  }
}
