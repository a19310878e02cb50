/**
 * Look-ups of names that strangers choose: a customer's `image_url`, a result's address. They never go through the
 * thread pool's `getaddrinfo`, which cannot be cancelled and which the connections to upstreams wait for: a name
 * silent server would stop them all. They are bounded in number and in time instead.
 */
import { Resolver as DnsClient } from 'node:dns/promises'
import { isIP } from 'node:net'
import { BulkheadRejectedError, bulkhead } from 'cockatiel'
import type { ResolvedAddress, Resolver } from './connections.ts'
import { startDeadline } from './deadline.ts'
import { FetchFailed } from './failure.ts'
import { readFileSync } from 'node:fs'

/** The most names that one resolver looks up at once; further ones wait. Each holds a socket or two. */
const IN_FLIGHT = 128

/** The most names that wait. Calls in progress bound them further: each looks up a few at once. */
const MAX_WAITING = 10_000

/** How long one name may take in all, and one question of it before it is repeated, in ms. */
const NAME_MS = 3000
const QUESTION_MS = 1000

/** How long the machine's files are cached, in ms. */
const FILES_MS = 5000

/** What can be set. Everything is for tests. */
export type NameSettings = {
  /** Name servers to ask instead of the machine's: `address:port`. */
  servers?: readonly string[]
  inFlight?: number
  files?: NameFiles
}

/**
 * A resolver that can be cancelled and is bounded in flight. It finds what the machine's own resolver would find: the
 * hosts file, then the name servers, with the search list.
 * @throws FetchFailed `unresolved` if the name has no address or its name servers give no answer; `unchecked` where
 * too many names wait to be asked at all; the signal's reason once that has aborted
 */
export function createNameResolver({ servers, inFlight = IN_FLIGHT, files }: NameSettings = {}): Resolver {
  const slots = bulkhead(inFlight, MAX_WAITING)
  const filesNow = files ? () => files : cachedFiles()
  return async (hostname, signal) => {
    const { hosts, ...rules } = filesNow()
    const local = hosts.get(hostname.replace(/\.$/, '').toLowerCase())
    if (local) return local.map(toResolved)
    try {
      return await slots.execute(() => {
        signal.throwIfAborted()
        return lookUp(candidatesOf(hostname, rules), servers, signal)
      })
    } catch (error) {
      if (error instanceof BulkheadRejectedError) {
        throw new FetchFailed('unchecked', 'The name could not be looked up in time.', {
          retryable: true,
          cause: error,
        })
      }
      throw error
    }
  }
}

const toResolved = (address: string): ResolvedAddress => ({ address, family: isIP(address) })

function cachedFiles(): () => NameFiles {
  let cached = readNameFiles()
  let readAt = Date.now()
  return () => {
    if (Date.now() - readAt > FILES_MS) {
      cached = readNameFiles()
      readAt = Date.now()
    }
    return cached
  }
}

/** The addresses of the first candidate that has some, found by a client of its own, which is cancelled at the end. */
async function lookUp(
  candidates: string[],
  servers: readonly string[] | undefined,
  signal: AbortSignal,
): Promise<ResolvedAddress[]> {
  const client = new DnsClient({ timeout: QUESTION_MS, tries: 2 })
  if (servers) client.setServers(servers)
  const deadline = startDeadline(signal, NAME_MS)
  const cancel = () => client.cancel()
  deadline.signal.addEventListener('abort', cancel, { once: true })
  let failure: unknown
  try {
    for (const name of candidates) {
      const answers = await Promise.allSettled([client.resolve4(name), client.resolve6(name)])
      const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
      if (found.length > 0) return found.map(toResolved)
      failure = worstOf(answers)
      if (deadline.signal.aborted) break
    }
  } finally {
    deadline.signal.removeEventListener('abort', cancel)
    deadline.release()
  }
  signal.throwIfAborted()
  throw unresolved(failure)
}

/** What name servers answer for a name that does not exist, or that has no address of the kind. */
const NO_SUCH_NAME = new Set(['ENOTFOUND', 'ENODATA'])

const codeOf = (error: unknown): string => (error as { code?: string } | undefined)?.code ?? ''

/** The error of two questions about a name: a missing answer takes precedence over a missing kind of address. */
function worstOf(answers: PromiseSettledResult<unknown>[]): unknown {
  const errors = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason as unknown] : []))
  return errors.find((error) => !NO_SUCH_NAME.has(codeOf(error))) ?? errors[0]
}

function unresolved(cause: unknown): FetchFailed {
  const message = NO_SUCH_NAME.has(codeOf(cause))
    ? 'The name does not resolve.'
    : 'The name does not resolve: its name servers gave no answer.'
  return new FetchFailed('unresolved', message, { retryable: true, cause })
}

/**
 * Resolvers by call, identified by its signal: each looks a name up once, and is dropped with the call. What was
 * checked is then also what is connected to.
 */
export function oncePerCall(resolve: Resolver): (call: AbortSignal) => Resolver {
  const resolvers = new WeakMap<AbortSignal, Resolver>()
  return (call) => {
    const resolver = resolvers.get(call) ?? once(resolve)
    resolvers.set(call, resolver)
    return resolver
  }
}

function once(resolve: Resolver): Resolver {
  const asked = new Map<string, Promise<ResolvedAddress[]>>()
  return (hostname, signal) => {
    const answer = asked.get(hostname) ?? resolve(hostname, signal)
    asked.set(hostname, answer)
    return answer
  }
}

/**
 * How a machine resolves names, apart from its name servers: an upstream in the same network resolves by its files, so
 * a customer's name must be judged by them too.
 */
export type NameFiles = {
  /** The addresses of the names in the hosts file; names are in lower case. */
  hosts: ReadonlyMap<string, readonly string[]>
  /** The domains in which a name is looked for. */
  search: readonly string[]
  /** A name with fewer dots is looked for in the domains first, and only then as it is. */
  ndots: number
}

/** Reads the machine's files now. A missing file counts as empty. */
export function readNameFiles(): NameFiles {
  return { hosts: parseHosts(textOf('/etc/hosts')), ...parseResolvConf(textOf('/etc/resolv.conf')) }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

const wordsOf = (line: string): string[] =>
  line
    .replace(/[#;].*/, '')
    .trim()
    .split(/\s+/)

/** The names of a hosts file. */
export function parseHosts(text: string): NameFiles['hosts'] {
  const hosts = new Map<string, string[]>()
  for (const line of text.split('\n')) {
    const [address = '', ...names] = wordsOf(line)
    if (isIP(address) === 0) continue
    for (const name of names) hosts.set(name.toLowerCase(), [...(hosts.get(name.toLowerCase()) ?? []), address])
  }
  return hosts
}

/** The search list of a `resolv.conf`: its last `search` or `domain` line counts, as for the C library. */
export function parseResolvConf(text: string): Pick<NameFiles, 'search' | 'ndots'> {
  let search: string[] = []
  let ndots = 1
  for (const line of text.split('\n')) {
    const [keyword, ...values] = wordsOf(line)
    if (keyword === 'search') search = values
    if (keyword === 'domain') search = values.slice(0, 1)
    const option = keyword === 'options' ? values.find((value) => /^ndots:\d{1,2}$/.test(value)) : undefined
    if (option) ndots = Number(option.slice('ndots:'.length))
  }
  return { search: search.map((domain) => domain.replace(/\.$/, '')).filter((domain) => domain !== ''), ndots }
}

/** The full names that a name may mean, in the order in which they are tried. */
export function candidatesOf(hostname: string, { search, ndots }: Pick<NameFiles, 'search' | 'ndots'>): string[] {
  if (hostname.endsWith('.')) return [hostname]
  const searched = search.map((domain) => `${hostname}.${domain}`)
  return hostname.split('.').length - 1 >= ndots ? [hostname, ...searched] : [...searched, hostname]
}
