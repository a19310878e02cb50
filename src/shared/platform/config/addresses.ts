/**
 * The addresses that an operator sets: the form that each must have. Problems are sentences without the value,
 * since addresses have passwords in them.
 */
import { isIP } from 'node:net'
import { z } from 'zod'

/** What is wrong with an address that begins rightly; null if nothing is. */
function addressProblem(text: string): string | null {
  if (!URL.canParse(text)) {
    return 'is no valid address: special characters of its user name and password must be percent-encoded'
  }
  return escapesProblem(new URL(text))
}

function escapesProblem({ username, password, pathname }: URL): string | null {
  try {
    ;[username, password, pathname].forEach(decodeURIComponent)
    return null
  } catch {
    return 'has a bare % in its user name, password or path: write it %25'
  }
}

/**
 * An address of Postgres as its library reads it (pg-connection-string, `parse`): a socket has no host, but a folder as
 * `host` behind the `?`, as that of Cloud SQL has. Null where it cannot be read.
 */
function parsePostgresUrl(text: string): URL | null {
  const named = URL.canParse(text) ? text : text.replace('@/', '@no-host/')
  return URL.canParse(named) ? new URL(named) : null
}

/** The library takes one host; libpq the first of several that suits. */
function postgresProblem(text: string): string | null {
  const url = parsePostgresUrl(text)
  const authority = /^[^/]+\/\/([^/?#]*)/.exec(text)?.[1] ?? ''
  const hosts = [authority.slice(authority.lastIndexOf('@') + 1), url?.searchParams.get('host')]
  if (hosts.some((host) => host?.includes(','))) return 'has several hosts: give it one, which leads to the primary'
  return url === null ? addressProblem(text) : escapesProblem(url)
}

/** Reports what `problemOf` finds. */
const checked = (schema: z.ZodString, problemOf: (text: string) => string | null) =>
  schema.superRefine((text, context) => {
    const problem = problemOf(text)
    if (problem !== null) context.addIssue({ code: 'custom', message: problem })
  })

const begins = (pattern: RegExp, message: string, required?: string) =>
  z.string(required === undefined ? {} : { error: required }).regex(pattern, { message, abort: true })

/** `http(s)://host[:port][/path]`, without slashes at its end. */
export const httpUrl = checked(begins(/^https?:\/\/[^/]+/, 'must be an http(s) address'), addressProblem).transform(
  (url) => url.replace(/\/+$/, ''),
)

/** An http(s) address without a path: pages, links and results are below its root. */
export const originUrl = checked(begins(/^https?:\/\/[^/]+/, 'must be an http(s) address'), (text) => {
  const problem = addressProblem(text)
  if (problem !== null) return problem
  const { pathname, search, hash, username, password } = new URL(text)
  if (username || password) return 'must have no user name and no password'
  return /^\/*$/.test(pathname) && search === '' && hash === '' ? null : 'must have no path: give the service a host'
}).transform((url) => new URL(url).origin)

/** Where a process listens: an address of its machine, or a name that leads to one. */
export const listenAddress = z
  .string()
  .refine(
    (text) => isIP(text) > 0 || /^(?!\d*(\.\d*)*$)[\w-]+(\.[\w-]+)*$/.test(text),
    'must be an IP address or a host name',
  )

/** Where Postgres is. */
export const postgresUrl = checked(
  begins(/^postgres(ql)?:\/\//, 'must be a postgres:// address', 'is required'),
  postgresProblem,
)

/** Where Redis is; its path is the number of a database. */
export const redisUrl = checked(
  begins(/^rediss?:\/\//, 'must be a redis:// or rediss:// address', 'is required'),
  (text) =>
    addressProblem(text) ??
    (/^\/?\d*$/.test(new URL(text).pathname) ? null : 'must have the number of a database as its path, or none'),
)

/** Where mails are handed over. */
export const smtpUrl = checked(begins(/^smtps?:\/\//, 'must be an smtp:// or smtps:// address'), addressProblem)

/** Where media results are stored. */
export const storageUrl = z.string().superRefine((text, context) => {
  try {
    parseStorageUrl(text)
  } catch {
    context.addIssue({
      code: 'custom',
      message:
        'must be file:PATH or s3://bucket/prefix (a bucket has 3 to 63 lower-case letters, digits, dots and hyphens)',
    })
  }
})

/** The value of DATABASE_SSL, by the words of `sslmode` and `ssl` in an address. */
const SSL_OF: Record<string, string> = {
  disable: 'off',
  require: 'require',
  'no-verify': 'require',
  'verify-ca': 'verify',
  'verify-full': 'verify',
}
const SSL_OF_FLAG: Record<string, string> = {
  '0': 'off',
  false: 'off',
  'no-verify': 'require',
  '1': 'verify',
  true: 'verify',
}

/**
 * The environment with the `sslmode` of DATABASE_URL as DATABASE_SSL.
 * @returns with `problem` if they contradict each other, or DATABASE_SSL has no value for that of the address.
 */
export function obeySslmode(environment: NodeJS.ProcessEnv): { environment: NodeJS.ProcessEnv; problem?: string } {
  const { DATABASE_URL: address, DATABASE_SSL: stated } = environment
  const searchParams = address === undefined ? undefined : parsePostgresUrl(address)?.searchParams
  if (searchParams === undefined) return { environment }
  const [mode, flag] = [searchParams.get('sslmode'), searchParams.get('ssl')]
  if (mode === null && flag === null) return { environment }
  const meant = mode === null ? SSL_OF_FLAG[flag!] : SSL_OF[mode]
  if (meant === undefined) {
    return {
      environment,
      problem: `DATABASE_URL has an sslmode that cannot be obeyed: it takes ${Object.keys(SSL_OF).join(', ')}`,
    }
  }
  if (stated !== undefined && stated !== meant) {
    return { environment, problem: `DATABASE_SSL contradicts the sslmode of DATABASE_URL, which means ${meant}` }
  }
  return { environment: { ...environment, DATABASE_SSL: meant } }
}

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
