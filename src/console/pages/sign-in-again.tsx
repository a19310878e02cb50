/**
 * A session ends after its time, or is ended elsewhere. The page and what was typed into it stay, and the same person
 * signs in over it.
 */
import { t } from '../language/language.ts'
import { Dialog } from '../parts/dialogs.tsx'
import { Field, Form, PasswordField, Submit, useSubmit } from '../parts/forms.tsx'
import { ProviderButtons, useProviders } from '../parts/providers.tsx'
import { SecondStep, useSignIn } from '../parts/second-step.tsx'
import { forgetToken, keepToken, signedInAs, staysSignedIn } from '../state/session.ts'

export function SignInAgain() {
  const { busy, problem, submits } = useSubmit()
  const email = signedInAs.value ?? ''
  const { passwords } = useProviders()
  const { waiting, begin, ...second } = useSignIn(keepToken)
  const submit = submits(({ password = '' }) => begin({ email, password }, staysSignedIn()))
  if (waiting)
    return (
      <Dialog title={t.entrance.signInAgain} close={() => {}} keep>
        <SecondStep waiting={waiting} {...second} />
      </Dialog>
    )
  return (
    <Dialog title={t.entrance.signInAgain} close={() => {}} keep>
      <p class="soft">{t.entrance.sessionEnded}</p>
      {passwords ? (
        <Form problem={problem} onSubmit={submit}>
          <Field label={t.entrance.email} name="email" type="email" autoComplete="username" value={email} readOnly />
          <PasswordField
            label={t.entrance.password}
            name="password"
            autoComplete="current-password"
            required
            autoFocus
          />
          <Submit
            busy={busy}
            busyText={t.entrance.signingIn}
            verb={t.entrance.signIn}
            cancel={() => forgetToken()}
            cancelText={t.frame.signOut}
          />
        </Form>
      ) : (
        <button type="button" class="quiet full" onClick={() => forgetToken()}>
          {t.frame.signOut}
        </button>
      )}
      <ProviderButtons stay={staysSignedIn} next={location.pathname + location.search} />
    </Dialog>
  )
}
