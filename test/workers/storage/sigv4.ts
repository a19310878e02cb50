/**
 * The verification of AWS Signature Version 4, written from its documentation and independent of the SDK, so that a
 * wrong signature is refused as AWS would refuse it.
 */
import { createHash, createHmac } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest('hex')
const hmac = (key: string | Buffer, data: string) => createHmac('sha256', key).update(data).digest()

type Claim = { credential: string; signedHeaders: string; signature: string; date: string; payloadHash: string }

function claimOf(request: IncomingMessage, query: URLSearchParams): Claim | null {
  const fromHeader = /^AWS4-HMAC-SHA256 Credential=(\S+), ?SignedHeaders=(\S+), ?Signature=(\w+)$/.exec(
    request.headers.authorization ?? '',
  )
  if (fromHeader) {
    return {
      credential: fromHeader[1]!,
      signedHeaders: fromHeader[2]!,
      signature: fromHeader[3]!,
      date: String(request.headers['x-amz-date']),
      payloadHash: String(request.headers['x-amz-content-sha256']),
    }
  }
  if (query.get('X-Amz-Algorithm') !== 'AWS4-HMAC-SHA256') return null
  return {
    credential: query.get('X-Amz-Credential') ?? '',
    signedHeaders: query.get('X-Amz-SignedHeaders') ?? '',
    signature: query.get('X-Amz-Signature') ?? '',
    date: query.get('X-Amz-Date') ?? '',
    payloadHash: 'UNSIGNED-PAYLOAD',
  }
}

/** `20261121T040000Z` as Unix ms. */
const timeOf = (date: string) =>
  Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))

function isCurrent(claim: Claim, query: URLSearchParams): boolean {
  const age = (Date.now() - timeOf(claim.date)) / 1000
  const lifetime = Number(query.get('X-Amz-Expires') ?? 900)
  return age > -900 && age < lifetime
}

/** The error code of S3 for a request with this body, or null if its signature is right. */
export function signatureProblem(request: IncomingMessage, body: Buffer, keys: Record<string, string>): string | null {
  const [path, rawQuery = ''] = request.url!.split('?') as [string, string?]
  const query = new URLSearchParams(rawQuery)
  const claim = claimOf(request, query)
  if (!claim) return 'AccessDenied'
  const [accessKey, day, region, service, terminal] = claim.credential.split('/') as [
    string,
    string,
    string,
    string,
    string,
  ]
  const secret = keys[accessKey]
  if (secret === undefined) return 'InvalidAccessKeyId'
  if (!isCurrent(claim, query)) return 'AccessDenied'
  if (/^[0-9a-f]{64}$/.test(claim.payloadHash) && claim.payloadHash !== sha256(body)) return 'XAmzContentSHA256Mismatch'

  const signed = claim.signedHeaders.split(';')
  const headers = signed.map((name) => `${name}:${String(request.headers[name]).trim()}\n`).join('')
  const canonicalQuery = rawQuery
    .split('&')
    .filter((pair) => pair !== '' && !pair.startsWith('X-Amz-Signature='))
    .map((pair) => (pair.includes('=') ? pair : `${pair}=`))
    .toSorted()
    .join('&')
  const canonical = [request.method, path, canonicalQuery, headers, claim.signedHeaders, claim.payloadHash].join('\n')
  const scope = [day, region, service, terminal].join('/')
  const key = [region, service, terminal].reduce<Buffer>(
    (signing, part) => hmac(signing, part!),
    hmac(`AWS4${secret}`, day!),
  )
  const expected = hmac(key, ['AWS4-HMAC-SHA256', claim.date, scope, sha256(canonical)].join('\n')).toString('hex')
  return expected === claim.signature && signed.includes('host') ? null : 'SignatureDoesNotMatch'
}
