import type { SpeechRequest } from '../../../src/shared/requests/speech.ts'

/** The pieces of what is spoken of a prompt, as they come. */
export const piecesOf = (prompt: string): string[] => ['ID3 ', `spoken ${prompt}`, ' to its end']

/** What is spoken, of many lengths: characters, and not bytes, are paid, and those of the instructions too. */
export function spokenOf({ prompt, large }: { prompt: string; large: boolean }): SpeechRequest {
  const times = (large ? 15 : 1) + (Number(prompt.slice(1)) % 7)
  const input = `${prompt} ${'🎺 words '.repeat(times)}`
  return { input, voice: 'alloy', response_format: 'mp3', ...(large && { instructions: 'slowly, please' }) }
}

/** How long the file of a transcription is, in whole seconds. */
export const secondsOf = ({ large }: { large: boolean }): number => (large ? 40 : 8)

/** The file of a prompt, in chunks, which is what is heard in it. */
export const soundOf = (prompt: string): string[] => ['heard ', `of ${prompt}`]

/** What is heard in the file of a prompt. */
export const transcriptOf = (prompt: string): string => soundOf(prompt).join('')
