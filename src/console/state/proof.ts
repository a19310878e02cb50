/**
 * Proofs in the middle of a session: what the server does only for a user who has just proved themselves is asked for
 * again after the proof.
 */
import { signal } from '@preact/signals'

/** The proof that is asked for, by a dialog above the page; null: none. */
export const wanted = signal<{ end: (isProven: boolean) => void } | null>(null)

let asking: Promise<boolean> | null = null

/** Asks for a proof, once for all requests that wait for it. @returns whether it was given */
export function askForProof(): Promise<boolean> {
  asking ??= new Promise<boolean>((resolve) => {
    wanted.value = {
      end: (isProven) => {
        wanted.value = null
        asking = null
        resolve(isProven)
      },
    }
  })
  return asking
}
