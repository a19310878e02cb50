import { createHash } from 'node:crypto'
import type { FormFile } from '../../../src/api/forms/form-file.ts'
import type { UpstreamFile } from '../../../src/workers/upstreams/multipart.ts'
import type { Process, Scheduler } from '../../support/faults.ts'

/** Of a simulation. `over` fails when it has ended. */
type Stage = { turns: Scheduler; over: Promise<never> }

/** Two pictures that are to be edited. */
export const picturesFor = (prompt: string): string[] => [`one of ${prompt}`, `another of ${prompt}`]

/** A file of a form, which comes to its worker in these chunks. */
export function uploadOf({ turns, over }: Stage, process: Process, place: number, chunks: readonly string[]): FormFile {
  const whole = chunks.join('')
  const reference = { place, name: `file-${place}`, type: 'application/octet-stream', bytes: whole.length }
  const file = {
    ...reference,
    reference: () => reference,
    toJSON: () => ({ sha256: createHash('sha256').update(whole).digest('hex') }),
    async *chunks() {
      for (const text of chunks) {
        const chunk = turns.effect(process, `upload ${text}`, () => Buffer.from(text))
        yield await Promise.race([chunk, over])
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
