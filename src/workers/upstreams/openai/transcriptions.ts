/**
 * Transcriptions of OpenAI's kind. JSON is always asked for: texts and subtitles do not report
 * what was billed, and are made of it here.
 */
import { asFields, isText, listOf } from '../../../shared/platform/fields.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import type { Timed, Transcript, TranscriptFormat } from '../../../shared/requests/transcriptions.ts'
import type { TranscriptionAdapter } from '../adapter.ts'
import { applyRules } from '../body-rules.ts'
import { malformedAnswer, unfailed } from '../failures.ts'
import type { UpstreamHttp } from '../http.ts'
import type { FormPart } from '../multipart.ts'

/** The forms that need the times of words. */
const NEED_TIMES: ReadonlySet<TranscriptFormat> = new Set(['srt', 'vtt', 'verbose_json'])

/** The transcriptions of every server that speaks OpenAI's wire format. */
export function createOpenaiTranscriptions(http: UpstreamHttp): TranscriptionAdapter {
  return async ({ task, format, seconds, file, ...options }, context) => {
    const fields = applyRules(
      { ...options, model: context.route.model, response_format: NEED_TIMES.has(format) ? 'verbose_json' : 'json' },
      context.route,
    )
    const [upload] = context.files ?? []
    if (!upload) throw malformedAnswer('the call has no file')
    const parts = [...partsOf(fields), { name: 'file', file: { ...upload, ...file } }]
    const path = task === 'translate' ? '/audio/translations' : '/audio/transcriptions'
    const asked = { method: 'POST', kind: 'transcription', path, body: { parts } } as const
    return transcriptOf(unfailed(await http.json(asked, context)), seconds)
  }
}

/** The texts of a form; a list is as many parts, with brackets behind its name. */
const partsOf = (fields: Fields): FormPart[] =>
  Object.entries(fields).flatMap(([name, value]): FormPart[] =>
    Array.isArray(value)
      ? value.map((one: unknown) => ({ name: `${name}[]`, text: textOf(one) }))
      : [{ name, text: textOf(value) }],
  )

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** @param seconds how long the audio is @throws UpstreamError `unknown` where there is no text */
function transcriptOf({ text, language, segments, words, usage }: Fields, seconds: number): Transcript {
  if (typeof text !== 'string') throw malformedAnswer('the answer has no text')
  const billed = asFields(usage).seconds
  return {
    text,
    language: isText(language) ? language : null,
    segments: timedIn(segments, 'text', seconds),
    words: timedIn(words, 'word', seconds),
    billedSeconds: typeof billed === 'number' && billed >= 0 && Number.isFinite(billed) ? billed : null,
  }
}

/** The parts of a list that have times; null if there are none. One without an end lasts until the next, or the end. */
function timedIn(list: unknown, said: string, seconds: number): Timed[] | null {
  const begun = listOf(list).filter((part) => typeof part[said] === 'string' && isTime(part.start))
  const timed = begun.flatMap((part, at) => {
    const [start, next] = [part.start as number, begun[at + 1]?.start as number | undefined]
    const end = part.end ?? Math.max(start, next ?? seconds)
    return isTime(end) ? [{ ...part, start, end, text: part[said] as string }] : []
  })
  return timed.length === 0 ? null : timed
}

const isTime = (value: unknown): value is number => typeof value === 'number' && value >= 0 && Number.isFinite(value)
