/** What the mails say, in each language. */
import type { Language } from '../terms/languages.ts'
import * as chinese from './templates-chinese.ts'
import * as english from './templates-english.ts'

/** One function for each mail. A language that lacks one does not compile. */
type Templates = typeof english

const TEMPLATES: Record<Language, Templates> = { en: english, 'zh-CN': chinese }

/** The mails in a language. */
export const templatesIn = (language: Language): Templates => TEMPLATES[language]
