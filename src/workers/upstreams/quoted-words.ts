/**
 * What a client may read of an upstream's words about its request. Agents correct their requests by them, so they stay
 * as they are; but they were written for the upstream's own customer, who is the operator: they name keys, addresses
 * and accounts. The client's own words stay unchanged.
 */
import type { Route } from '../../shared/catalogue/catalogue.ts'
import { UpstreamError } from './adapter.ts'

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

/** What vendors' keys and ids begin with. */
const LIKE_A_KEY = /\b(?:sk|pk|rk|key|org|proj|acct|ws|wrkspc|req)[-_][\w*-]{4,}/gi

/** What names an address, an account or a key. A group that is there is what stays in front of the name. */
const NAMES: readonly RegExp[] = [
  /[a-z][a-z0-9+.-]*:\/\/[^\s'"`<>)]+/gi,
  /[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g,
  new RegExp(String.raw`(?<![\w.])(?:[a-z0-9-]+\.)+(?:${TOPS})(?![\w-])(?::\d{1,5})?(?:/[^\s'"\`]*)?`, 'gi'),
  /(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5})?(?![\w.])/g,
  /\[?(?<![\w:])(?:[0-9a-f]{0,4}:){3,7}[0-9a-f]{0,4}\]?(?::\d{1,5})?/gi,
  /(?<![\w.])(?:localhost|[a-z][a-z0-9-]*)(?::\d{2,5})(?!\w)/gi,
  LIKE_A_KEY,
  LONG_ID,
  new RegExp(String.raw`(\b(?:${OWNERS})s?(?:[ _-](?:id|name))?[:=]?\s+)(?:'[^']*'|"[^"]*"|\`[^\`]*\`)`, 'gi'),
  /(\b(?:[Oo]rgani[sz]ation|[Aa]ccount|[Ww]orkspace|[Pp]roject|[Tt]enant)\s+)[A-Z][\w&.-]*(?:\s+[A-Z][\w&.-]*)*/g,
]

/** What the words are about: body and betas as the client sent them, and the name by which it knows the model. */
export type QuotedTo = { request: object; betas?: readonly string[] | undefined; model: string }

const wholeWord = (text: string): RegExp =>
  new RegExp(String.raw`(?<![\w.-])${text.replaceAll(/[^\w]/g, String.raw`\$&`)}(?![\w-])`, 'g')

/** The most characters of a failure that are stored. */
const MAX_STORED = 500

/** What is in quotes, the inner ones first: JSON may quote a sentence that quotes. */
const QUOTES = [/'([^']+)'/g, /`([^`]+)`/g, /"([^"]+)"/g]

/** How many words in a row are taken for a quotation of the request. */
const QUOTATION = 3

/** A text without what it quotes of a request: what is in quotes, and words in a row that are the request's own. */
function withoutQuotations(text: string, request: unknown): string {
  const sent = JSON.stringify(request ?? '').replaceAll(/\\[nrt]|\s+/g, ' ')
  const isSent = (words: string): boolean => words.split(/\s+/).every((word) => sent.includes(word))
  const words = QUOTES.reduce(
    (rest, quote) => rest.replaceAll(quote, (whole, inner: string) => (isSent(inner) ? `'${HIDDEN}'` : whole)),
    text,
  ).split(/\s+/)
  const quoted = new Set<number>()
  for (let at = 0; at + QUOTATION <= words.length; at++)
    if (sent.includes(words.slice(at, at + QUOTATION).join(' ')))
      for (let next = at; next < at + QUOTATION; next++) quoted.add(next)
  return words.map((word, at) => (quoted.has(at) ? HIDDEN : word)).join(' ')
}

/** A failure for operators: its kind, and the upstream's words without its keys, its headers and the request. */
export function storedWords(error: unknown, { upstream }: Route, request: unknown): string {
  if (!(error instanceof UpstreamError)) return 'defect'
  const secrets = [...upstream.keys.map(({ secret }) => secret), ...Object.values(upstream.headers)]
  const words = (error.said ?? error.message).replaceAll(/\p{Cc}+/gu, ' ')
  const masked = secrets.reduce<string>((text, secret) => (secret ? text.replaceAll(secret, HIDDEN) : text), words)
  return `${error.kind}: ${withoutQuotations(masked.replaceAll(LIKE_A_KEY, HIDDEN), request)}`
    .slice(0, MAX_STORED)
    .toWellFormed()
}

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
