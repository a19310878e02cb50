/**
 * The password of the user who is signed in, as a proof in a form.
 */
import { t } from '../language/language.ts'
import { getFactors } from '../api/endpoints.ts'
import { useLoad } from '../state/load.ts'
import { PasswordField } from './forms.tsx'

/** What the user can prove themselves with. */
export const useFactors = () => useLoad('second factors', getFactors)

/** Whether the user has a password that signs them in; as most have, while that is not known. */
export const useHasPassword = (): boolean => useFactors().data?.password ?? true

/** The field; nothing for a user without a password, who is asked for another proof by the server. */
export const OwnPassword = () =>
  useHasPassword() ? (
    <PasswordField label={t.entrance.yourPassword} name="password" autoComplete="current-password" required />
  ) : null
