/**
 * Requests to the console API.
 */
import { t } from '../language/language.ts'
import type { ErrorCode } from '../../shared/platform/errors.ts'
import { askForProof } from '../state/proof.ts'
import { endSession, mustAddFactor, token } from '../state/session.ts'
import { requestOf } from './requests.ts'

/**
 * What went wrong: `code` is the API's own, or `unreachable` without an answer. `message` is one sentence for
 * people.
 */
export class Problem extends Error {
  readonly code: ErrorCode | 'unreachable'
  /** The field of a form that a sentence of the console itself is about. */
  readonly about: string | undefined

  constructor(code: Problem['code'], message: string, about?: string) {
    super(message)
    this.code = code
    this.about = about
  }

  /** The path of the field that the message begins with: "budget.credits must be a number." is about that. */
  get field(): string | undefined {
    return /^([a-z][A-Za-z_]*(?:\.[A-Za-z_]+|\[\d+\])*) (?:must|is|has) /.exec(this.message)?.[1]
  }

  /** The message as a sentence of its own, where no label replaces the name of its field. */
  get sentence(): string {
    const { field, message, code } = this
    if (field === undefined) return t.errors.sentence(message, code)
    const name = field.split(/[.[\]]+/).findLast((part) => /^[a-z]/.test(part))!
    const words = name.replaceAll('_', ' ').replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
    const known = t.errors.sentence(message)
    if (known !== message) return known
    return t.errors.fault(`${words.charAt(0).toUpperCase()}${words.slice(1)}`, message.slice(field.length + 1))
  }
}

/** A problem of any thrown thing. */
export const problemOf = (thrown: unknown): Problem =>
  thrown instanceof Problem
    ? thrown
    : new Problem('unreachable', thrown instanceof Error ? thrown.message : String(thrown))

/** Waits for a removal. `not_found` counts as removed: the answer to an earlier try may have been lost. */
export async function removal(asked: Promise<unknown>): Promise<void> {
  await asked.catch((thrown: unknown) => {
    if (problemOf(thrown).code !== 'not_found') throw thrown
  })
}

type Fields = Record<string, unknown>

/**
 * Sends a request with the session token, if there is one; again after a proof, where the server asks for one.
 * @throws Problem; forgets a session that has ended.
 */
export async function send<Body>(method: string, path: string, fields?: Fields): Promise<Body> {
  const once = (): Promise<Body> =>
    request(
      (sent) => fetch(path, requestOf(method, sent, fields)),
      (response) => response.json() as Promise<Body>,
    )
  try {
    return await once()
  } catch (thrown) {
    if (problemOf(thrown).code !== 'proof_required' || !(await askForProof())) throw thrown
    return once()
  }
}

/** Fetches a file with the session token. @throws Problem; forgets a session that has ended. */
export const fetchFile = (path: string): Promise<Blob> =>
  request(
    (sent) => fetch(path, requestOf('GET', sent)),
    (response) => response.blob(),
  )

async function request<Body>(
  ask: (sent: string | null) => Promise<Response>,
  read: (response: Response) => Promise<Body>,
): Promise<Body> {
  const sent = token.value
  let response: Response
  let refusal: { error: ErrorCode; message: string }
  try {
    response = await ask(sent)
    if (response.ok) return await read(response)
    refusal = (await response.json()) as typeof refusal
  } catch {
    throw new Problem('unreachable', t.frame.unreachable)
  }
  throw failed(response, refusal, sent)
}

function failed(
  { status, headers }: Response,
  { error, message }: { error: ErrorCode; message: string },
  sent: string | null,
): Problem {
  if (error === 'unauthorized' && sent !== null && sent === token.value) {
    endSession()
  }
  if (error === 'second_factor_required') mustAddFactor.value = true
  if (status === 429) return new Problem(error, t.frame.tooMany(Math.ceil(Number(headers.get('retry-after')) / 60)))
  if (status >= 500 && error !== 'payments_unavailable') return new Problem(error, t.frame.unreachable)
  return new Problem(error, message)
}
