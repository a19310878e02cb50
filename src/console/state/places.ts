/**
 * Where a search leads: pages, models, keys, guides, and what an id or an address names.
 */
import { t } from '../language/language.ts'
import { getKeys, getModels } from '../api/endpoints.ts'
import { searchAccounts } from '../api/operator.ts'
import { account, mayManage } from './account.ts'
import { getGuides } from './guides.ts'

/** Somewhere to go. */
export type Place = { kind: string; name: string; note?: string | undefined; href: string }

const { page, operators, groups, search: words } = t.frame

const PAGES: Place[] = [
  [page.overview, '/overview'],
  [page.playground, '/playground'],
  [page.models, '/models'],
  [page.calls, '/calls'],
  [page.gallery, '/gallery'],
  [page.keys, '/keys'],
  [page.settings, '/settings'],
  [page.help, '/help'],
  [page.reference, '/docs'],
].map(([name, href]) => ({ kind: words.page, name: name!, href: href! }))

const MANAGED: Place[] = [
  [page.webhooks, '/webhooks'],
  [page.credits, '/credits'],
].map(([name, href]) => ({ kind: words.page, name: name!, href: href! }))

const OPERATORS: Place[] = [
  [operators.home, '/operator'],
  [operators.accounts, '/operator/accounts'],
  [operators.calls, '/operator/calls'],
  [operators.payments, '/operator/payments'],
  [operators.codes, '/operator/codes'],
  [operators.debts, '/operator/debts'],
  [operators.mails, '/operator/mails'],
  [operators.upstreams, '/operator/upstreams'],
  [operators.margins, '/operator/margins'],
  [operators.catalogue, '/operator/catalogue'],
  [operators.banner, '/operator/banner'],
  [operators.webhooks, '/operator/webhooks'],
  [operators.actions, '/operator/actions'],
].map(([name, href]) => ({ kind: groups.operate, name: name!, href: href! }))

const isOperator = (): boolean => account.value?.role === 'admin'

/** What an id leads to, by its prefix; of an operator's search to what is anybody's. */
const BY_PREFIX: Record<string, { kind: string; own?: (id: string) => string; any?: (id: string) => string }> = {
  call: { kind: words.call, own: (id) => `/calls/${id}`, any: (id) => `/operator/calls/${id}` },
  key: { kind: words.callsOfKey, own: (id) => `/calls?keyId=${id}`, any: (id) => `/operator/calls?keyId=${id}` },
  wh: { kind: words.webhook, own: (id) => `/webhooks/${id}` },
  acc: { kind: words.account, any: (id) => `/operator/accounts/${id}` },
  pay: { kind: words.payment, any: (id) => `/operator/payments/${id}` },
  usr: { kind: words.callsOfMember, own: (id) => `/calls?memberId=${id}` },
}

function placesOfId(text: string): Place[] {
  const [, prefix = ''] = /^([a-z]+)_[0-9a-f]{32}$/.exec(text) ?? []
  const found = BY_PREFIX[prefix]
  if (!found) return []
  return [
    ...(found.own ? [{ kind: found.kind, name: text, href: found.own(text) }] : []),
    ...(found.any && isOperator() ? [{ kind: words.ofAnybody(found.kind), name: text, href: found.any(text) }] : []),
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
      kind: words.model,
      name: name ?? id,
      note: id,
      href: `/models/${encodeURIComponent(id)}`,
    })),
    ...keys.data.map(({ id, name, hint }) => ({ kind: words.key, name, note: hint, href: `/calls?keyId=${id}` })),
    ...guides.map(({ name, title }) => ({ kind: words.guide, name: title, note: name, href: `/help/${name}` })),
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
    kind: words.account,
    name: name || email,
    note: name ? email : undefined,
    href: `/operator/accounts/${id}`,
  }))
}
