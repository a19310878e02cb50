/**
 * A session ends after its time, or is ended elsewhere. The page and what was typed into it stay, and the same person
 * signs in over it.
 */
import { Dialog } from '../parts/dialogs.tsx'
import { Field, Form, PasswordField, Submit, useSubmit } from '../parts/forms.tsx'
import { SecondStep, useSignIn } from '../parts/second-step.tsx'
import { forgetToken, keepToken, signedInAs, staysSignedIn } from '../state/session.ts'

export function SignInAgain() {
  const { busy, problem, submits } = useSubmit()
  const email = signedInAs.value ?? ''
  const { waiting, begin, ...second } = useSignIn(keepToken)
  const submit = submits(({ password = '' }) => begin({ email, password }, staysSignedIn()))
  if (waiting)
    return (
      <Dialog title="Sign in again" close={() => {}} keep>
        <SecondStep waiting={waiting} {...second} />
      </Dialog>
    )
  return (
    <Dialog title="Sign in again" close={() => {}} keep>
      <p class="soft">Your session has ended. Sign in again to continue: what you have typed is still there.</p>
      <Form problem={problem} onSubmit={submit}>
        <Field label="E-mail address" name="email" type="email" autoComplete="username" value={email} readOnly />
        <PasswordField label="Password" name="password" autoComplete="current-password" required autoFocus />
        <Submit busy={busy} busyText="Signing in…" verb="Sign in" cancel={() => forgetToken()} cancelText="Sign out" />
      </Form>
    </Dialog>
  )
}
