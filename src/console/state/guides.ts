/**
 * The guides: the pages of the documentation, with the reader's own address and models filled in.
 */
import type { Modality } from '../../shared/terms/kinds.ts'

/** A guide, and whom it is for. */
export type Guide = { group: 'use' | 'operate'; name: string; title: string }

async function fetched(path: string): Promise<Response> {
  const answer = await fetch(path, { credentials: 'omit' })
  if (!answer.ok) throw new Error(`${path} was answered ${answer.status}`)
  return answer
}

/** The list of guides. */
export const getGuides = async (): Promise<Guide[]> =>
  ((await (await fetched('/pages/help.json')).json()) as { guides: Guide[] }).guides

/** A guide as Markdown. */
export const getGuide = async (name: string): Promise<string> => (await fetched(`/pages/help/${name}.md`)).text()

/** Addresses that stand for the reader's own. */
const ADDRESSES = /https?:\/\/(?:localhost:3000|gateway\.example\.com)/g

/** The models of the guides' examples, by their kinds: the reader's first of the kind takes their place. */
const EXAMPLES: [model: RegExp, kind: Modality][] = [
  [/\bsandbox-chat\b/g, 'chat'],
  [/\bsandbox-image\b/g, 'image'],
  [/\bsandbox-video\b/g, 'video'],
  [/\bsandbox-embedding\b/g, 'embedding'],
  [/\bsandbox-speech\b/g, 'speech'],
  [/\bsandbox-transcription\b/g, 'transcription'],
  [/\bsandbox-rerank\b/g, 'rerank'],
]

/** A model that the reader can call. */
type NamedModel = { id: string; modality: Modality }

/** A guide with the reader's address, and their models where the examples name those of the sandbox. */
export function filledIn(text: string, origin: string, models: readonly NamedModel[]): string {
  const addressed = text.replaceAll(ADDRESSES, origin)
  return EXAMPLES.reduce((page, [name, kind]) => {
    const own = models.find(({ modality }) => modality === kind)?.id
    return own === undefined ? page : page.replaceAll(name, own)
  }, addressed)
}

/**
 * Where a link of a guide leads in the console: to another guide, a place in this one, or the web; null for a file of
 * the repository.
 */
export function guideHref(href: string, from: string): string | null {
  if (/^(https?:|\/)/i.test(href)) return href
  if (href.startsWith('#')) return `/help/${from}${href}`
  const { pathname, hash } = new URL(href, `http://docs/${from}.md`)
  const found = /^\/(.+)\.md$/.exec(pathname)
  return found ? `/help/${found[1]}${hash}` : null
}
