/**
 * What the machine's own files define of names (`/etc/hosts`, `/etc/resolv.conf`). An upstream in the same network
 * resolves by them, so a customer's name must be judged by them too. Pure, but for `readNameFiles`.
 */
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'

/** How a machine resolves names, apart from its name servers. */
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
