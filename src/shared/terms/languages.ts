/** The languages of the console and of mails. Pure. */

/** By the tag that documents and formats have: each in its own words. */
export const LANGUAGES = { en: 'English', 'zh-CN': '简体中文' } as const
export type Language = keyof typeof LANGUAGES

export const LANGUAGE_TAGS = Object.keys(LANGUAGES) as [Language, ...Language[]]

/** What a tag begins with: `zh` of `zh-CN`. */
export const familyOf = (tag: string): string => tag.toLowerCase().split('-')[0]!

/** Ours for the first of these tags, the most wanted first, that has one; else English. */
export function languageOf(tags: readonly string[]): Language {
  const found = tags.flatMap((tag) => LANGUAGE_TAGS.filter((one) => familyOf(one) === familyOf(tag)))
  return found[0] ?? 'en'
}

/** More than a browser sends is not read. */
const MOST_TAGS = 20

/** The language that an Accept-Language header asks for (RFC 9110): the highest weight first, 0 never. */
export function languageAsked(header: string | undefined): Language {
  const asked = (header ?? '').split(',', MOST_TAGS).map((part) => {
    const [tag = '', weight = 'q=1'] = part.trim().split(/\s*;\s*/)
    return { tag, weight: Number(weight.slice('q='.length)) }
  })
  const wanted = asked.filter(({ weight }) => weight > 0).toSorted((a, b) => b.weight - a.weight)
  return languageOf(wanted.map(({ tag }) => tag))
}
