/** A call for a transcription at its upstreams, priced by the measured seconds, not by the upstream's report. */
import type { TranscriptionModel } from '../../shared/catalogue/catalogue.ts'
import type { TranscriptionRequest, Timed, Transcript, TranscriptFormat } from '../../shared/requests/transcriptions.ts'
import type { WorkerDeps } from '../deps.ts'
import { shapeMicroUsd } from './costs.ts'
import type { Outcome, Run } from './run-call.ts'
import { filesOf, settlementOf } from './run-call.ts'
import { runOnce } from './run-once.ts'

/** Runs a call for a transcription to its end. @throws UpstreamError when every try failed */
export function runTranscription(deps: WorkerDeps, model: TranscriptionModel, run: Run): Promise<Outcome> {
  const request = run.job.request as TranscriptionRequest
  return runOnce(deps, model, run, {
    ask: (route, context) =>
      deps.upstreams.adapterFor(route, 'transcription')(request, { ...context, files: filesOf(deps, run) }),
    settle: (route, transcript) => {
      run.spent.add(shapeMicroUsd(route, { duration: transcript.billedSeconds ?? request.seconds }))
      return settlementOf(run, { output: transcriptOutput(transcript, request) })
    },
  })
}

type Asked = Pick<TranscriptionRequest, 'task' | 'format' | 'seconds'>

/**
 * The stored output of a transcription, with `usage` last. An answer that its client does not receive as JSON is stored
 * as JSON too: its form in `as`, its text in `text` (`src/api/v1/audio/sent-transcript.ts` sends it).
 */
function transcriptOutput(transcript: Transcript, asked: Asked): string {
  const usage = { type: 'duration', seconds: asked.seconds }
  return JSON.stringify({ ...OUTPUTS[asked.format](transcript, asked), usage })
}

const OUTPUTS: Record<TranscriptFormat, (transcript: Transcript, asked: Asked) => object> = {
  json: ({ text }) => ({ text }),
  verbose_json: ({ text, language, segments, words }, { task, seconds }) => ({
    task,
    language: language ?? 'unknown',
    duration: seconds,
    text,
    segments: segments ?? [],
    ...(words && { words: words.map(({ text: _text, ...word }) => word) }),
  }),
  text: ({ text }) => ({ as: 'text', text: `${text}\n` }),
  srt: (transcript, asked) => ({ as: 'srt', text: srt(segmentsOf(transcript, asked)) }),
  vtt: (transcript, asked) => ({ as: 'vtt', text: vtt(segmentsOf(transcript, asked)) }),
}

/** The segments; one of all where the upstream has none. */
const segmentsOf = ({ segments, text }: Transcript, { seconds }: Asked): readonly Timed[] =>
  segments ?? [{ start: 0, end: seconds, text }]

const srt = (segments: readonly Timed[]): string =>
  segments
    .map(({ start, end, text }, at) => `${at + 1}\n${clock(start, ',')} --> ${clock(end, ',')}\n${lineOf(text)}\n\n`)
    .join('')

const vtt = (segments: readonly Timed[]): string =>
  `WEBVTT\n\n${segments
    .map(({ start, end, text }) => `${clock(start, '.')} --> ${clock(end, '.')}\n${lineOf(text)}\n\n`)
    .join('')}`

/** An empty line would end a subtitle, and an arrow begin one. */
const lineOf = (text: string): string =>
  text
    .trim()
    .replaceAll(/\s*\n\s*/g, '\n')
    .replaceAll('-->', '->')

/** The most that a clock shows: 99 hours. */
const MOST_MS = 359_999_999

/** `01:02:03.004` */
function clock(seconds: number, point: string): string {
  const ms = Math.min(Math.round(seconds * 1000), MOST_MS)
  const two = (value: number): string => String(Math.floor(value)).padStart(2, '0')
  const rest = String(ms % 1000).padStart(3, '0')
  return `${two(ms / 3_600_000)}:${two((ms / 60_000) % 60)}:${two((ms / 1000) % 60)}${point}${rest}`
}
