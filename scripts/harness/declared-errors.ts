import { expect } from 'chai'
import { UNDECLARED } from '../../src/api/middleware/error-handler.ts'
import type { Log } from '../../src/shared/platform/process/log.ts'

/**
 * Watches the log of a web process for errors that their endpoints do not declare.
 * @returns a function that throws if there was one
 */
export function watchErrors(log: Log): () => void {
  const seen: unknown[] = []
  const error = log.error.bind(log) as (fields: object, message?: string) => void
  log.error = ((fields: object, message?: string): void => {
    if (message === UNDECLARED) seen.push(fields)
    error(fields, message)
  }) as Log['error']
  return () => expect(seen, 'errors that their endpoints do not declare').to.deep.equal([])
}
