/**
 * A small S3 server for tests, over real HTTP: signed requests only (see `sigv4.ts`), objects, multipart uploads,
 * paged listings and signed addresses. Like many servers other than AWS it refuses chunked checksum trailers.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { randomUUID } from 'node:crypto'
import type { Listening } from '../fetching/servers.ts'
import { serve } from '../fetching/servers.ts'
import { signatureProblem } from './sigv4.ts'
import { bytesOf } from './media-files.ts'

type StoredObject = { bytes: Buffer; contentType: string; modified: Date }
type OpenUpload = { key: string; contentType: string; parts: Map<number, Buffer>; initiated: Date }

export type S3Server = Listening & {
  bucket: string
  objects: Map<string, StoredObject>
  uploads: Map<string, OpenUpload>
  credentials: { accessKeyId: string; secretAccessKey: string }
  /** Answers the next requests that match with a status, as an outage would. */
  failOn: (matches: (method: string, url: URL) => boolean) => void
}

type Exchange = {
  method: string
  url: URL
  key: string
  body: Buffer
  request: IncomingMessage
  response: ServerResponse
}

const STATUS: Record<string, number> = {
  AccessDenied: 403,
  InvalidAccessKeyId: 403,
  SignatureDoesNotMatch: 403,
  XAmzContentSHA256Mismatch: 400,
  NotImplemented: 501,
  NoSuchKey: 404,
  NoSuchBucket: 404,
  NoSuchUpload: 404,
  EntityTooSmall: 400,
  InternalError: 500,
}

/** How many keys a page of a listing has: few, so that every listing has pages. */
const PAGE = 2

/** The smallest size of a part other than the last, in bytes. */
const MIN_PART = 5 * 1024 * 1024

/** Starts a server with one empty bucket. */
export async function startS3(): Promise<S3Server> {
  const bucket = 'media'
  const credentials = { accessKeyId: 'AKIDTEST', secretAccessKey: 'a secret/with+signs=' }
  const objects: S3Server['objects'] = new Map()
  const uploads: S3Server['uploads'] = new Map()
  let fails: Parameters<S3Server['failOn']>[0] = () => false

  const listeningServer = await serve((request, response) => {
    void answer(request, response)
  })

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bytesOf(request)
    const url = new URL(request.url!, 'http://s3')
    const [, name, ...key] = decodeURIComponent(url.pathname).split('/')
    const exchange = { method: request.method!, url, key: key.join('/'), body, request, response }
    const problem = String(request.headers['x-amz-content-sha256']).startsWith('STREAMING')
      ? 'NotImplemented'
      : signatureProblem(request, body, { [credentials.accessKeyId]: credentials.secretAccessKey })
    if (problem) return refuse(exchange, problem)
    if (fails(exchange.method, url)) return refuse(exchange, 'InternalError')
    if (name !== bucket) return refuse(exchange, 'NoSuchBucket')
    if (exchange.key === '') return bucketRequest(exchange)
    const isPartOfUpload = url.searchParams.has('uploads') || url.searchParams.has('uploadId')
    return isPartOfUpload ? uploadRequest(exchange) : objectRequest(exchange)
  }

  function refuse({ method, response }: Exchange, code: string): void {
    response.writeHead(STATUS[code]!, { 'content-type': 'application/xml' })
    const error = `<?xml version="1.0"?><Error><Code>${code}</Code><Message>${code}</Message></Error>`
    response.end(method === 'HEAD' ? '' : error)
  }

  function xml({ response }: Exchange, root: string, content: string): void {
    response
      .writeHead(200, { 'content-type': 'application/xml' })
      .end(`<?xml version="1.0"?><${root}>${content}</${root}>`)
  }

  function bucketRequest(exchange: Exchange): void {
    const { searchParams: query } = exchange.url
    const prefix = query.get('prefix') ?? ''
    if (query.has('uploads')) {
      const open = [...uploads]
        .filter(([, upload]) => upload.key.startsWith(prefix))
        .map(
          ([id, { key, initiated }]) =>
            `<Upload><Key>${key}</Key><UploadId>${id}</UploadId>` +
            `<Initiated>${initiated.toISOString()}</Initiated></Upload>`,
        )
      return xml(exchange, 'ListMultipartUploadsResult', open.join(''))
    }
    const after = query.get('continuation-token') ?? ''
    const keys = [...objects.keys()].filter((key) => key.startsWith(prefix) && key > after).toSorted()
    const page = keys.slice(0, PAGE)
    const next = keys.length > PAGE ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : ''
    const contents = page.map(
      (key) =>
        `<Contents><Key>${key}</Key>` +
        `<LastModified>${objects.get(key)!.modified.toISOString()}</LastModified></Contents>`,
    )
    xml(exchange, 'ListBucketResult', `<IsTruncated>${keys.length > PAGE}</IsTruncated>${next}${contents.join('')}`)
  }

  function uploadRequest(exchange: Exchange): void {
    const {
      method,
      url: { searchParams: query },
      key,
      body,
      request,
      response,
    } = exchange
    if (method === 'POST' && query.has('uploads')) {
      const id = randomUUID()
      uploads.set(id, {
        key,
        contentType: String(request.headers['content-type']),
        parts: new Map(),
        initiated: new Date(),
      })
      return xml(
        exchange,
        'InitiateMultipartUploadResult',
        `<Bucket>${bucket}</Bucket><Key>${key}</Key><UploadId>${id}</UploadId>`,
      )
    }
    const id = query.get('uploadId')!
    const upload = uploads.get(id)
    if (upload?.key !== key) return refuse(exchange, 'NoSuchUpload')
    if (method === 'PUT') {
      upload.parts.set(Number(query.get('partNumber')), body)
      response.writeHead(200, { etag: `"${query.get('partNumber')}"` }).end()
    } else if (method === 'DELETE') {
      uploads.delete(id)
      response.writeHead(204).end()
    } else complete(exchange, id, upload)
  }

  function complete(exchange: Exchange, id: string, { key, contentType, parts }: OpenUpload): void {
    const listed = exchange.body.toString().matchAll(/<PartNumber>(\d+)<\/PartNumber>/g)
    const chosen = [...listed].map((match) => parts.get(Number(match[1]))!)
    if (chosen.slice(0, -1).some((part) => part.length < MIN_PART)) return refuse(exchange, 'EntityTooSmall')
    objects.set(key, { bytes: Buffer.concat(chosen), contentType, modified: new Date() })
    uploads.delete(id)
    xml(exchange, 'CompleteMultipartUploadResult', `<Bucket>${bucket}</Bucket><Key>${key}</Key><ETag>"x"</ETag>`)
  }

  function objectRequest(exchange: Exchange): void {
    const {
      method,
      url: { searchParams: query },
      key,
      body,
      request,
      response,
    } = exchange
    if (method === 'PUT') {
      objects.set(key, { bytes: body, contentType: String(request.headers['content-type']), modified: new Date() })
      response.writeHead(200, { etag: '"x"' }).end()
      return
    }
    if (method === 'DELETE') {
      objects.delete(key)
      response.writeHead(204).end()
      return
    }
    const object = objects.get(key)
    if (!object) return refuse(exchange, 'NoSuchKey')
    response
      .writeHead(200, {
        'content-type': query.get('response-content-type') ?? object.contentType,
        'cache-control': query.get('response-cache-control') ?? 'no-cache',
        'content-length': object.bytes.length,
        'last-modified': object.modified.toUTCString(),
      })
      .end(method === 'HEAD' ? '' : object.bytes)
  }

  return Object.assign(listeningServer, {
    bucket,
    objects,
    uploads,
    credentials,
    failOn: (matches: typeof fails) => {
      fails = matches
    },
  })
}
