/**
 * The language of the console: the reader's choice, or else the first that their browser asks for, or else English.
 * A module may read `t` when it is loaded: the texts are there by then. A choice takes effect with the next document.
 */
import type { Texts } from './english.ts'
import { english } from './english.ts'

/** By the tag that documents and formats have: each in its own words. */
export const LANGUAGES = { en: 'English', 'zh-CN': '简体中文' } as const
export type Language = keyof typeof LANGUAGES

const TAGS = Object.keys(LANGUAGES) as Language[]
const PLACE = 'tollgate.language'

/** What a tag begins with: `zh` of `zh-CN`. */
const familyOf = (tag: string): string => tag.toLowerCase().split('-')[0]!

/** What the browser asks for, the most wanted first. */
const asked: readonly string[] = globalThis.navigator?.languages ?? []

/** What the reader has chosen; null: nothing, or the browser forbids to store it. */
export function chosenLanguage(): Language | null {
  try {
    return TAGS.find((tag) => tag === localStorage.getItem(PLACE)) ?? null
  } catch {
    return null
  }
}

function languageOf(tags: readonly string[]): Language {
  const found = tags.flatMap((tag) => TAGS.filter((one) => familyOf(one) === familyOf(tag)))
  return found[0] ?? 'en'
}

export const language: Language = chosenLanguage() ?? languageOf(asked)

/** The locale of numbers and times: the browser's own of the language, such as `en-GB`, or else the language's. */
export const locale: string = asked.find((tag) => familyOf(tag) === familyOf(language)) ?? language

/** The texts in this language. */
export const t: Texts = language === 'zh-CN' ? (await import('./chinese.ts')).chinese : english

/** Stores a choice, null to follow the browser, and loads the page again with it. */
export function chooseLanguage(choice: Language | null): void {
  try {
    if (choice === null) localStorage.removeItem(PLACE)
    else localStorage.setItem(PLACE, choice)
    location.reload()
  } catch {
    // Without a store there is no choice: the browser's language stays.
  }
}
