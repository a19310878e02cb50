/**
 * The choice of the language, of the console in this browser and of mails to who is signed in.
 */
import { LANGUAGES } from '../../shared/terms/languages.ts'
import { changeProfile } from '../api/endpoints.ts'
import type { LanguageChoice as Choosable } from '../language/language.ts'
import { browsersLanguage, chooseLanguage, languageChoice, t } from '../language/language.ts'
import { token } from '../state/session.ts'
import { ErrorMessage } from './basics.tsx'
import { Choice, useSubmit } from './forms.tsx'

/** Each language in its own words, for who cannot read the one that is shown. */
const CHOICES = [['browser', t.settings.appearance.browsersLanguage], ...Object.entries(LANGUAGES)] as const

export function LanguageChoice() {
  const { problem, run } = useSubmit()
  const choose = (choice: Choosable): void =>
    run(async () => {
      if (token.value !== null) await changeProfile({ language: choice === 'browser' ? browsersLanguage : choice })
      chooseLanguage(choice)
    })
  return (
    <>
      <Choice
        label={t.settings.appearance.language}
        options={CHOICES}
        value={languageChoice}
        onChange={(event) => choose(event.currentTarget.value as Choosable)}
      />
      <ErrorMessage problem={problem} />
    </>
  )
}
