import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** Writes a file that only its owner can read. No reader ever sees half of it. */
export function writePrivately(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true })
  const draft = `${file}.${process.pid}.new`
  writeFileSync(draft, text, { mode: 0o600 })
  // A draft that a killed run left has its old mode.
  chmodSync(draft, 0o600)
  renameSync(draft, file)
}

/** The text of a file, or undefined if it does not exist. */
export function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** A random secret of `bytes` bytes in hexadecimal. The first call makes it and stores it in `file` (mode 0600). */
export function keptSecret(file: string, bytes = 24): string {
  const kept = readIfThere(file)?.trim()
  if (kept) return kept
  const secret = randomBytes(bytes).toString('hex')
  writePrivately(file, `${secret}\n`)
  return secret
}
