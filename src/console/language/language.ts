/**
 * The language of the console: the reader's choice on this device, or else that of the account which was last signed in
 * here, or else the first that the browser asks for, or else English.
 * A module may read `t` when it is loaded: the texts are there by then. A choice takes effect with the next document.
 * Each language is a file of its own, of which a browser fetches one: it imports no values of other folders, since they
 * may wait for the texts.
 */
import type { Language } from '../../shared/terms/languages.ts'
import { LANGUAGE_TAGS, familyOf, languageOf } from '../../shared/terms/languages.ts'
import type { Texts } from './english.ts'

const CHOSEN = 'tollgate.language'
const ACCOUNTS = 'tollgate.account-language'

/** What is used of a browser. Tests of the console's pure parts have none, nor its types. */
type Browser = {
  navigator?: { languages: readonly string[] }
  localStorage: { getItem: (key: string) => string | null; setItem: (key: string, value: string) => void }
  location: { reload: () => void }
}
const browser = globalThis as unknown as Browser

/** What the browser asks for, the most wanted first. */
const asked: readonly string[] = browser.navigator?.languages ?? []

/** A reader's choice: a language, or to match the browser. */
export type LanguageChoice = Language | 'browser'

/** What is stored; null: nothing, or the browser forbids it. */
function stored(place: string): LanguageChoice | null {
  try {
    const found = browser.localStorage.getItem(place)
    return [...LANGUAGE_TAGS, 'browser' as const].find((one) => one === found) ?? null
  } catch {
    return null
  }
}

const chosen = stored(CHOSEN)

/** What is in force: the reader's choice, or that of the account. */
export const languageChoice: LanguageChoice = chosen ?? stored(ACCOUNTS) ?? 'browser'

/** The language that the browser asks for. */
export const browsersLanguage = languageOf(asked)

export const language: Language = languageChoice === 'browser' ? browsersLanguage : languageChoice

/** The locale of numbers and times: the browser's own of the language, such as `en-GB`, or else the language's. */
export const locale: string = asked.find((tag) => familyOf(tag) === familyOf(language)) ?? language

const TEXTS: Record<Language, () => Promise<Texts>> = {
  en: async () => (await import('./english.ts')).english,
  'zh-CN': async () => (await import('./chinese.ts')).chinese,
}

/** The texts in this language. */
export const t: Texts = await TEXTS[language]()

/** Stores a choice, and loads the page again with it. */
export function chooseLanguage(choice: LanguageChoice, place = CHOSEN): void {
  try {
    browser.localStorage.setItem(place, choice)
    browser.location.reload()
  } catch {
    // Without a store there is no choice: the browser's language stays.
  }
}

/** Adopts the language of an account where its reader has not chosen one on this device. */
export function adoptLanguage(ofAccount: Language): void {
  if (chosen === null && ofAccount !== language) chooseLanguage(ofAccount, ACCOUNTS)
}
