/**
 * The choice of the language, of the console in this browser and of mails to who is signed in.
 */
import type { Language } from '../../shared/terms/languages.ts'
import { LANGUAGES } from '../../shared/terms/languages.ts'
import { changeProfile } from '../api/endpoints.ts'
import { browsersLanguage, chooseLanguage, chosenLanguage, t } from '../language/language.ts'
import { token } from '../state/session.ts'
import { ErrorMessage } from './basics.tsx'
import { Choice, useSubmit } from './forms.tsx'

/** Each language in its own words, for who cannot read the one that is shown. */
const CHOICES = [['', t.settings.appearance.browsersLanguage], ...Object.entries(LANGUAGES)] as const

export function LanguageChoice() {
  const { problem, run } = useSubmit()
  const choose = (choice: Language | null): void =>
    run(async () => {
      if (token.value !== null) await changeProfile({ language: choice ?? browsersLanguage })
      chooseLanguage(choice)
    })
  return (
    <>
      <Choice
        label={t.settings.appearance.language}
        options={CHOICES}
        value={chosenLanguage() ?? ''}
        onChange={(event) => choose((event.currentTarget.value || null) as Language | null)}
      />
      <ErrorMessage problem={problem} />
    </>
  )
}
