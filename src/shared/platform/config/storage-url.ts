/** STORAGE_URL: where media results are stored. */

/** Where media results are stored, parsed from STORAGE_URL. */
export type StorageLocation = { kind: 'file'; path: string } | { kind: 's3'; bucket: string; prefix: string }

const S3_URL = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([A-Za-z0-9!_.*'()/-]*))?$/

/**
 * Parses STORAGE_URL: `file:PATH` (relative to the working directory, or absolute; `file:///PATH` too) or
 * `s3://bucket/prefix`. The prefix comes back without slashes at its ends.
 * @throws TypeError with a sentence for the operator
 */
export function parseStorageUrl(text: string): StorageLocation {
  const path = /^file:(?:\/\/(?=\/))?(.+)$/s.exec(text)?.[1]
  if (path !== undefined && !path.startsWith('//') && !path.includes('\0')) return { kind: 'file', path }
  const s3 = S3_URL.exec(text)
  if (!s3) throw new TypeError('STORAGE_URL must be file:PATH or s3://bucket/prefix.')
  return { kind: 's3', bucket: s3[1]!, prefix: (s3[2] ?? '').replace(/^\/+|\/+$/g, '') }
}
