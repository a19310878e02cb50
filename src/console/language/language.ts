/**
 * The language of the console: the reader's choice, or else the first that their browser asks for, or else English.
 * A module may read `t` when it is loaded: the texts are there by then. A choice takes effect with the next document.
 */
import type { Language } from '../../shared/terms/languages.ts'
import { LANGUAGE_TAGS, familyOf, languageOf } from '../../shared/terms/languages.ts'
import type { Texts } from './english.ts'
import { english } from './english.ts'

const PLACE = 'tollgate.language'

/** What is used of a browser. Tests of the console's pure parts have none, nor its types. */
type Browser = {
  navigator?: { languages: readonly string[] }
  localStorage: Record<'getItem' | 'removeItem', (key: string) => string | null | void> & {
    setItem: (key: string, value: string) => void
  }
  location: { reload: () => void }
}
const browser = globalThis as unknown as Browser

/** What the browser asks for, the most wanted first. */
const asked: readonly string[] = browser.navigator?.languages ?? []

/** What the reader has chosen; null: nothing, or the browser forbids to store it. */
export function chosenLanguage(): Language | null {
  try {
    return LANGUAGE_TAGS.find((tag) => tag === browser.localStorage.getItem(PLACE)) ?? null
  } catch {
    return null
  }
}

/** The language that the browser asks for. */
export const browsersLanguage = languageOf(asked)

export const language: Language = chosenLanguage() ?? browsersLanguage

/** The locale of numbers and times: the browser's own of the language, such as `en-GB`, or else the language's. */
export const locale: string = asked.find((tag) => familyOf(tag) === familyOf(language)) ?? language

/** The texts in this language. */
export const t: Texts = language === 'zh-CN' ? (await import('./chinese.ts')).chinese : english

/** Stores a choice, null to follow the browser, and loads the page again with it. */
export function chooseLanguage(choice: Language | null): void {
  try {
    if (choice === null) browser.localStorage.removeItem(PLACE)
    else browser.localStorage.setItem(PLACE, choice)
    browser.location.reload()
  } catch {
    // Without a store there is no choice: the browser's language stays.
  }
}
