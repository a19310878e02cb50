/**
 * Proofs of what the sandbox thought. They outlive the process, as those of the real API do, so their secret is one in
 * name alone.
 */
import { createHmac, randomBytes } from 'node:crypto'

const SECRET = 'the sandbox upstream'
const NONCE_BYTES = 12

/** Signs a thought; also one without its words. No two signatures are the same. */
export function signatureOf(thinking: string): string {
  return sealed(randomBytes(NONCE_BYTES), `thinking ${thinking}`)
}

/** Whether the sandbox made this signature, for this very text. */
export function isSignatureOf(thinking: string, signature: string): boolean {
  return sealed(nonceOf(signature), `thinking ${thinking}`) === signature
}

/** The sealed form of a thought. */
export function redactedThought(): string {
  return sealed(randomBytes(NONCE_BYTES), 'redacted')
}

/** Whether the sandbox made this redacted thought. */
export function isRedactedThought(data: string): boolean {
  return sealed(nonceOf(data), 'redacted') === data
}

function sealed(nonce: Buffer, text: string): string {
  const proof = createHmac('sha256', SECRET).update(nonce).update(text).digest()
  return Buffer.concat([nonce, proof]).toString('base64')
}

function nonceOf(signature: string): Buffer {
  return Buffer.from(signature, 'base64').subarray(0, NONCE_BYTES)
}
