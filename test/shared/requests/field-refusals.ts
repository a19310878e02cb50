import { expect } from 'chai'
import { ApiError } from '../../../src/shared/platform/errors.ts'

/** Expects an error to be a refusal that names a field. @throws what is another error */
export function expectFieldRefused(error: unknown): void {
  if (!(error instanceof ApiError)) throw error
  expect(error.code).to.equal('invalid_request')
  expect(error.param).to.be.a('string').that.is.not.empty
}
