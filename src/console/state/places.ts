/**
 * Where a search leads: pages, models, keys, guides, and what an id or an address names.
 */
import { getKeys, getModels } from '../api/endpoints.ts'
import { searchAccounts } from '../api/operator.ts'
import { account, mayManage } from './account.ts'
import { getGuides } from './guides.ts'

/** Somewhere to go. */
export type Place = { kind: string; name: string; note?: string | undefined; href: string }

const PAGES: Place[] = [
  ['Overview', '/overview'],
  ['Playground', '/playground'],
  ['Models', '/models'],
  ['Calls', '/calls'],
  ['Gallery', '/gallery'],
  ['Keys', '/keys'],
  ['Settings', '/settings'],
  ['Help', '/help'],
  ['API reference', '/docs'],
].map(([name, href]) => ({ kind: 'Page', name: name!, href: href! }))

const MANAGED: Place[] = [
  ['Webhooks', '/webhooks'],
  ['Credits', '/credits'],
].map(([name, href]) => ({ kind: 'Page', name: name!, href: href! }))

const OPERATORS: Place[] = [
  ['Operator home', '/operator'],
  ['Accounts', '/operator/accounts'],
  ['Calls of everybody', '/operator/calls'],
  ['Payments', '/operator/payments'],
  ['Codes', '/operator/codes'],
  ['Debts', '/operator/debts'],
  ['Undelivered e-mails', '/operator/mails'],
  ['Upstreams', '/operator/upstreams'],
  ['Margins', '/operator/margins'],
  ['Catalogue', '/operator/catalogue'],
  ['Banner', '/operator/banner'],
  ['Webhooks of operators', '/operator/webhooks'],
  ['Audit log', '/operator/actions'],
].map(([name, href]) => ({ kind: 'Operate', name: name!, href: href! }))

const isOperator = (): boolean => account.value?.role === 'admin'

/** What an id leads to, by its prefix; of an operator's search to what is anybody's. */
const BY_PREFIX: Record<string, { kind: string; own?: (id: string) => string; any?: (id: string) => string }> = {
  call: { kind: 'Call', own: (id) => `/calls/${id}`, any: (id) => `/operator/calls/${id}` },
  key: { kind: 'Calls of a key', own: (id) => `/calls?keyId=${id}`, any: (id) => `/operator/calls?keyId=${id}` },
  wh: { kind: 'Webhook', own: (id) => `/webhooks/${id}` },
  acc: { kind: 'Account', any: (id) => `/operator/accounts/${id}` },
  pay: { kind: 'Payment', any: (id) => `/operator/payments/${id}` },
  usr: { kind: 'Calls of a member', own: (id) => `/calls?memberId=${id}` },
}

function placesOfId(text: string): Place[] {
  const [, prefix = ''] = /^([a-z]+)_[0-9a-f]{32}$/.exec(text) ?? []
  const found = BY_PREFIX[prefix]
  if (!found) return []
  return [
    ...(found.own ? [{ kind: found.kind, name: text, href: found.own(text) }] : []),
    ...(found.any && isOperator() ? [{ kind: `${found.kind}, of anybody`, name: text, href: found.any(text) }] : []),
  ]
}

/** Everything that the console has by itself: asked for once, when the search is opened. */
export async function knownPlaces(): Promise<Place[]> {
  const none = { data: [] }
  const [models, keys, guides] = await Promise.all([
    getModels().catch(() => none),
    getKeys().catch(() => none),
    getGuides().catch(() => []),
  ])
  return [
    ...PAGES,
    ...(mayManage() ? MANAGED : []),
    ...(isOperator() ? OPERATORS : []),
    ...models.data.map(({ id, name }) => ({
      kind: 'Model',
      name: name ?? id,
      note: id,
      href: `/models/${encodeURIComponent(id)}`,
    })),
    ...keys.data.map(({ id, name, hint }) => ({ kind: 'Key', name, note: hint, href: `/calls?keyId=${id}` })),
    ...guides.map(({ name, title }) => ({ kind: 'Guide', name: title, note: name, href: `/help/${name}` })),
  ]
}

/** The most of each search that is shown. */
const MOST = 12

/** Those of known places that have every word of a text, those whose names begin with it first. */
export function matching(places: readonly Place[], text: string): Place[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return places.slice(0, MOST)
  const found = places.filter((place) => {
    const all = `${place.kind} ${place.name} ${place.note ?? ''}`.toLowerCase()
    return words.every((word) => all.includes(word))
  })
  const begins = ({ name }: Place): number => (name.toLowerCase().startsWith(words[0]!) ? 0 : 1)
  return [...placesOfId(text.trim()), ...found.toSorted((a, b) => begins(a) - begins(b))].slice(0, MOST)
}

/** Accounts whose address, name or id has the text, and payments of it, for operators; none for others. */
export async function operatorsPlaces(text: string): Promise<Place[]> {
  if (!isOperator() || text.trim().length < 3) return []
  const { data } = await searchAccounts({ search: text.trim() })
  return data.slice(0, MOST).map(({ id, email, name }) => ({
    kind: 'Account',
    name: name || email,
    note: name ? email : undefined,
    href: `/operator/accounts/${id}`,
  }))
}
