import { sandboxCatalogue } from '../../../../scripts/harness/harness.ts'
import type { Catalogue } from '../../../../scripts/harness/harness.ts'
import type { Model } from '../../../../src/shared/catalogue/catalogue.ts'
import { parseCatalogue } from '../../../../src/shared/catalogue/parse.ts'
import { ApiError } from '../../../../src/shared/platform/errors.ts'

export const OK = 'ok'

/** `ok`, or the code of the refusal that this throws and the field that it names. */
export function verdict(check: () => unknown): string {
  try {
    check()
    return OK
  } catch (error) {
    if (error instanceof ApiError) return `${error.code} ${error.param}`
    throw error
  }
}

/** The models of the sandbox, with these changes, as a web process has them. */
export function modelsWith(change: (catalogue: Catalogue) => void = () => {}): ReadonlyMap<string, Model> {
  const content = sandboxCatalogue('http://127.0.0.1:9')
  change(content)
  return parseCatalogue(content, { version: 1, createdAt: 1 }, (name) => (name === 'SANDBOX_API_KEY' ? 'x' : undefined))
    .models
}
