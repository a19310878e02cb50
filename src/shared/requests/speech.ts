/** What a request for speech asks for, and how its text is counted. Pure. */
import { codePoints } from '../platform/text-fields.ts'

/** The forms in which sound is answered, by their media types. */
export const SPEECH_TYPES = {
  mp3: 'audio/mpeg',
  opus: 'audio/ogg',
  aac: 'audio/aac',
  flac: 'audio/flac',
  wav: 'audio/wav',
  pcm: 'audio/pcm',
} as const

/** What is spoken, as it is sent on. */
export type SpeechRequest = {
  input: string
  voice: string | { id: string }
  instructions?: string
  response_format: keyof typeof SPEECH_TYPES
  speed?: number
}

/** The longest text that is spoken, and the longest instructions on how, in characters: as OpenAI has it. */
export const MAX_CHARACTERS = 4096

/** The most characters that a request is charged for. */
export const MOST_CHARACTERS = 2 * MAX_CHARACTERS

/** The characters that a request is charged for: of its text, and of its instructions, which upstreams bill too. */
export const chargedCharacters = ({
  input,
  instructions = '',
}: Pick<SpeechRequest, 'input' | 'instructions'>): number => codePoints(input) + codePoints(instructions)

/** What ends the sound of a call on its way to the web process: without it the sound was broken off. */
export const SOUND_ENDS = '.'
