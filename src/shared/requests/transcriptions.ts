/** What a request for a transcription asks for. Pure. */

/** The forms of an answer. All of them are made of the JSON that upstreams answer. */
export const TRANSCRIPT_FORMATS = ['json', 'text', 'srt', 'verbose_json', 'vtt'] as const
/** One of these forms. */
export type TranscriptFormat = (typeof TRANSCRIPT_FORMATS)[number]

/** What is to be written down. The file of sound is the only one of its form. */
export type TranscriptionRequest = {
  task: 'transcribe' | 'translate'
  format: TranscriptFormat
  /** How long the file is, in whole seconds, as it was measured and charged. */
  seconds: number
  /** What upstreams know a file of its kind by. */
  file: { name: string; type: string }
  language?: string
  prompt?: string
  temperature?: number
  timestamp_granularities?: ('word' | 'segment')[]
}

/** The largest file, in bytes, and the longest sound, in seconds. */
export const MAX_SOUND = { bytes: 26_214_400, seconds: 14_400 }

/** A transcript as an upstream answers it. Segments and words are passed on as they are. */
export type Transcript = {
  text: string
  language: string | null
  segments: readonly Timed[] | null
  words: readonly Timed[] | null
  /** What the upstream reports that it has billed, in seconds; null if it reports nothing. */
  billedSeconds: number | null
}

/** A part of a transcript and when it is heard, in seconds. */
export type Timed = { start: number; end: number; text: string; [field: string]: unknown }
