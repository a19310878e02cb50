/** Measures audio files, in a thread: each message names a file, and is answered with what it is. */
import { readSync } from 'node:fs'
import { parentPort } from 'node:worker_threads'
import { measureSound } from '../../../shared/media-files/measure.ts'
import type { Sound } from '../../../shared/media-files/reader.ts'
import { NoSound } from '../../../shared/media-files/reader.ts'

/** A file within an open file of this process: from byte `at` on, `bytes` long. */
export type OpenFile = { descriptor: number; at: number; bytes: number }

/** What was measured; `fault` is the message of a NoSound. */
export type Measurement = Sound | { fault: string }

function measure({ descriptor, at, bytes }: OpenFile): Measurement {
  try {
    const read = (from: number, length: number) => readFrom(descriptor, at + from, Math.min(length, bytes - from))
    return measureSound({ bytes, read })
  } catch (error) {
    if (error instanceof NoSound) return { fault: error.message }
    throw error
  }
}

function readFrom(descriptor: number, from: number, length: number): Buffer {
  const buffer = Buffer.allocUnsafe(Math.max(0, length))
  let done = 0
  while (done < buffer.length) {
    const bytes = readSync(descriptor, buffer, done, buffer.length - done, from + done)
    if (bytes === 0) throw new Error('a temporary file is shorter than what was written to it')
    done += bytes
  }
  return buffer
}

parentPort!.on('message', (file: OpenFile) => parentPort!.postMessage(measure(file)))
// It is loaded.
parentPort!.postMessage(null)
