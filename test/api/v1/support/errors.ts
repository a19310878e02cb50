import { expect } from 'chai'
import { shouldRetry, statusOf } from '../../../../src/shared/platform/errors.ts'
import type { ErrorCode } from '../../../../src/shared/platform/errors.ts'
import type { Reply } from '../../../../scripts/harness/http.ts'

/** Checks the whole answer of a refusal: its status, its form, its headers. */
export function expectError(reply: Reply, code: ErrorCode, param: string | null = null): void {
  expect(reply.status, reply.text).to.equal(statusOf(code))
  expect(reply.json).to.have.all.keys('ok', 'error')
  expect(reply.json.ok).to.equal(false)
  expect(reply.json.error).to.include({ type: code, code, param })
  expect(reply.json.error.message).to.be.a('string').that.is.not.empty
  expect(reply.headers.get('content-type')).to.match(/^application\/json/)
  expect(reply.headers.get('cache-control')).to.equal('no-store')
  expect(reply.headers.get('x-request-id')).to.be.a('string')
  expect(reply.headers.get('x-should-retry')).to.equal(String(shouldRetry(code)))
}

/** The error of this class that an SDK throws for a request. */
export async function refusal<T extends Error>(
  request: PromiseLike<unknown>,
  kind: abstract new (...all: never[]) => T,
): Promise<T> {
  const error = await Promise.resolve(request).then(
    () => new Error('was taken'),
    (thrown: unknown) => thrown,
  )
  expect(error, String(error)).to.be.an.instanceOf(kind)
  return error as T
}
