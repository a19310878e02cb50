/** Why something was not fetched. */
export type FetchProblem =
  /** The address, or where it led, is not one that may be reached. Nothing was sent there. */
  | 'refused'
  /** The name has no address now. */
  | 'unresolved'
  /** The name could not be looked up in time: nothing is known of it. */
  | 'unchecked'
  /** No connection: refused, unreachable, or no answer in time. */
  | 'unreachable'
  /** The server's certificate is not one to trust. */
  | 'untrusted'
  /** The server answered with a status other than 200. */
  | 'status'
  /** The server fell silent, or took too long in all. */
  | 'timeout'
  /** The connection broke off, or what came over it was no HTTP. */
  | 'broken'
  /** More bytes than allowed. */
  | 'too_large'
  /** Too many of its account have failed lately: it was not tried. */
  | 'too_many'

/** Details of a failure; `cause` is for the log only. */
export type FetchFailedDetails = { retryable?: boolean; status?: number; cause?: unknown }

/**
 * A download that did not succeed. Its message is public: it repeats neither the address, which may carry a secret,
 * nor the server's words.
 */
export class FetchFailed extends Error {
  readonly problem: FetchProblem
  /** Whether the same request may succeed a little later. */
  readonly retryable: boolean
  /** The HTTP status, where the server answered at all. */
  readonly status: number | null

  constructor(problem: FetchProblem, message: string, details: FetchFailedDetails = {}) {
    super(message, { cause: details.cause })
    this.name = 'FetchFailed'
    this.problem = problem
    this.retryable = details.retryable ?? false
    this.status = details.status ?? null
  }
}

const UNREACHABLE = /^(UND_ERR_CONNECT_TIMEOUT|ECONNREFUSED|ENETUNREACH|EHOSTUNREACH|EHOSTDOWN|ENETDOWN|ETIMEDOUT)$/
const TIMEOUT = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'])
const UNRESOLVED = new Set(['ENOTFOUND', 'ENODATA', 'EAI_AGAIN', 'EAI_NODATA', 'EAI_NONAME', 'EAI_FAIL'])
const UNTRUSTED = /^(ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|DEPTH_ZERO_SELF_SIGNED|SELF_SIGNED|HOSTNAME_MISMATCH)/

/** What an error of a resolver, a socket or the HTTP client means. A `FetchFailed` is let through as it is. */
export function toFetchFailed(cause: unknown): FetchFailed {
  if (cause instanceof FetchFailed) return cause
  const code = (cause as { code?: string } | null)?.code ?? ''
  const retryable = true
  if (UNRESOLVED.has(code)) return new FetchFailed('unresolved', 'The name does not resolve.', { retryable, cause })
  if (UNREACHABLE.test(code))
    return new FetchFailed('unreachable', 'No connection to the server.', { retryable, cause })
  if (TIMEOUT.has(code)) return new FetchFailed('timeout', 'The server took too long.', { retryable, cause })
  if (UNTRUSTED.test(code)) return new FetchFailed('untrusted', 'The server has no valid certificate.', { cause })
  return new FetchFailed('broken', 'The connection to the server broke off.', { retryable, cause })
}
