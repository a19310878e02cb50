/** Vectors of numbers of 32 bits: as upstreams write them, and as clients ask for them. Pure. */

const BYTES = Float32Array.BYTES_PER_ELEMENT

/** A vector from numbers, or from the base64 of little-endian numbers; null for anything else. */
export function vectorOf(written: unknown): Float32Array | null {
  const vector =
    typeof written === 'string' ? fromBase64(written) : Array.isArray(written) ? fromNumbers(written) : null
  return vector && vector.length > 0 && vector.every(Number.isFinite) ? vector : null
}

const fromNumbers = (numbers: unknown[]): Float32Array | null =>
  numbers.every((one) => typeof one === 'number') ? Float32Array.from(numbers) : null

function fromBase64(text: string): Float32Array | null {
  const bytes = Buffer.from(text, 'base64')
  if (bytes.length % BYTES !== 0) return null
  // Aligned, as a view of numbers has to be.
  const copy = new Uint8Array(bytes)
  return new Float32Array(copy.buffer)
}

/** The digits that distinguish any two numbers of 32 bits. */
const DIGITS = 9

/** A vector as JSON. */
export const vectorText = (vector: Float32Array, format: 'float' | 'base64'): string =>
  format === 'base64'
    ? `"${Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString('base64')}"`
    : `[${Array.from(vector, (one) => Number(one.toPrecision(DIGITS))).join(',')}]`
