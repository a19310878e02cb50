import { PREPARATION, clientProgram } from '../../scripts/testing/clients.ts'
import type { ClientName } from '../../scripts/testing/clients.ts'

/** The program of a client that is on the registry. Skips the tests where it is not installed, with a message. */
export function programOf(test: Mocha.Context, name: ClientName): string {
  const path = clientProgram(name)
  if (path !== null) return path
  process.stderr.write(`    skipped: ${name} is not installed. Install it with \`${PREPARATION}\`.\n`)
  return test.skip()
}
