import { createHash } from 'node:crypto'
import type { FormFile } from '../../../src/api/forms/form-file.ts'
import type { SpeechRequest } from '../../../src/shared/requests/speech.ts'
import type { UpstreamFile } from '../../../src/workers/upstreams/multipart.ts'
import type { Asked } from './clients.ts'
import type { Simulation, Web } from './simulation.ts'

/** The pieces of what is spoken of a prompt, as they come. */
export const piecesOf = (prompt: string): string[] => ['ID3 ', `spoken ${prompt}`, ' to its end']

/** What is spoken: characters, and not bytes, are paid, and those of the instructions too. */
export function spokenOf({ prompt, large }: Pick<Asked, 'prompt' | 'large'>): SpeechRequest {
  const input = `${prompt} ${'🎺 word '.repeat(large ? 20 : 2)}`
  return { input, voice: 'alloy', response_format: 'mp3', ...(large && { instructions: 'slowly, please' }) }
}

/** How long the file of a transcription is, in whole seconds. */
export const secondsOf = ({ large }: Pick<Asked, 'large'>): number => (large ? 40 : 8)

const heardIn = (prompt: string): string[] => ['heard ', `of ${prompt}`]

/** What is heard in the file of a prompt. */
export const transcriptOf = (prompt: string): string => heardIn(prompt).join('')

/** The file of a form for a transcription, which comes to its worker in two chunks. */
export function uploadOf(simulation: Simulation, { process }: Web, prompt: string): FormFile {
  const reference = { place: 0, name: 'speech.wav', type: 'audio/wav', bytes: transcriptOf(prompt).length }
  const file = {
    ...reference,
    reference: () => reference,
    toJSON: () => ({ sha256: createHash('sha256').update(prompt).digest('hex') }),
    async *chunks() {
      for (const [at, text] of heardIn(prompt).entries()) {
        const chunk = simulation.turns.effect(process, `upload ${at} of ${prompt}`, () => Buffer.from(text))
        yield await Promise.race([chunk, simulation.over])
      }
    },
  }
  return file as unknown as FormFile
}

/** Reads the files that a worker has for its upstream. @throws UploadLost */
export async function readFiles(files: readonly UpstreamFile[]): Promise<string> {
  const chunks: Uint8Array[] = []
  for (const { open } of files) for await (const chunk of open()) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}
