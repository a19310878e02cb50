/**
 * What a client may read of an upstream's words about its request. Agents correct their requests by them, so they stay
 * as they are; but they were written for the upstream's own customer, who is the operator: they name keys, addresses
 * and accounts. The client's own words stay unchanged.
 */
import type { Route } from '../../shared/catalogue/catalogue.ts'
import type { UpstreamError } from './adapter.ts'

/** Statuses of a refusal that is about the request. An error in an answer has none. */
const OF_REQUEST: ReadonlySet<number | null> = new Set([null, 400, 413, 422])

/** An answer that is no sentence: a page, or JSON of a form that is not known. */
const NO_SENTENCE = /^\s*[<{[]/

const HIDDEN = '[…]'

/** Last labels of names of hosts. A path of a field has dots too: `messages.1.role`. */
const TOPS = 'com|net|org|io|ai|dev|app|cloud|co|cn|eu|de|uk|us|internal|local|localdomain|lan|svc|cluster|corp|intra'

/** What precedes a name of theirs. */
const OWNERS = 'organi[sz]ation|account|workspace|project|team|customer|tenant|subscription|deployment|resource'

/** A long word of letters and digits; but one with a date at its end is a version: of a model, a tool, a beta. */
const LONG_ID = new RegExp(
  [
    String.raw`(?<![\w-])(?=[\w+/=~*-]*\d)(?=[\w+/=~*-]*[a-z])`,
    String.raw`(?![\w-]*(?:\d{8}|\d{4}-\d\d-\d\d)(?![\w-]))[\w+/=~*-]{16,}`,
  ].join(''),
  'gi',
)

/** What names an address, an account or a key. A group that is there is what stays in front of the name. */
const NAMES: readonly RegExp[] = [
  /[a-z][a-z0-9+.-]*:\/\/[^\s'"`<>)]+/gi,
  /[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g,
  new RegExp(String.raw`(?<![\w.])(?:[a-z0-9-]+\.)+(?:${TOPS})(?![\w-])(?::\d{1,5})?(?:/[^\s'"\`]*)?`, 'gi'),
  /(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5})?(?![\w.])/g,
  /\[?(?<![\w:])(?:[0-9a-f]{0,4}:){3,7}[0-9a-f]{0,4}\]?(?::\d{1,5})?/gi,
  /(?<![\w.])(?:localhost|[a-z][a-z0-9-]*)(?::\d{2,5})(?!\w)/gi,
  /\b(?:sk|pk|rk|key|org|proj|acct|ws|wrkspc|req)[-_][\w*-]{4,}/gi,
  LONG_ID,
  new RegExp(String.raw`(\b(?:${OWNERS})s?(?:[ _-](?:id|name))?[:=]?\s+)(?:'[^']*'|"[^"]*"|\`[^\`]*\`)`, 'gi'),
  /(\b(?:[Oo]rgani[sz]ation|[Aa]ccount|[Ww]orkspace|[Pp]roject|[Tt]enant)\s+)[A-Z][\w&.-]*(?:\s+[A-Z][\w&.-]*)*/g,
]

/** What the words are about: body and betas as the client sent them, and the name by which it knows the model. */
export type QuotedTo = { request: object; betas?: readonly string[] | undefined; model: string }

const wholeWord = (text: string): RegExp =>
  new RegExp(String.raw`(?<![\w.-])${text.replaceAll(/[^\w]/g, String.raw`\$&`)}(?![\w-])`, 'g')

/** The words of a refusal for its client; null if it may read none of them. */
export function quotedWords({ kind, status, said }: UpstreamError, route: Route, about: QuotedTo): string | null {
  if (kind !== 'rejected' || said === null || !OF_REQUEST.has(status) || NO_SENTENCE.test(said)) return null
  const sent = `${JSON.stringify(about.request)} ${about.betas?.join(' ') ?? ''}`
  const isSent = (name: string): boolean => sent.includes(name) || sent.includes(JSON.stringify(name).slice(1, -1))
  const { apiKey } = route.upstream
  let words = said.replaceAll(/\p{Cc}+/gu, ' ').replace(/\S*…$/, '…')
  if (apiKey) words = words.replaceAll(apiKey, HIDDEN)
  words = words.replaceAll(wholeWord(route.model), () => about.model)
  for (const name of NAMES) {
    words = words.replaceAll(name, (whole: string, label: unknown) =>
      isSent(whole) || whole === about.model ? whole : typeof label === 'string' ? `${label}${HIDDEN}` : HIDDEN,
    )
  }
  return words.trim() === '' ? null : words.trim()
}
