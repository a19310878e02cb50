/**
 * What can use an account whose address was just proved, and the end of it all: somebody else may have registered the
 * address before its owner did.
 */
import { useEffect, useState } from 'preact/hooks'
import { t } from '../language/language.ts'
import { endAccess, getAccess } from '../api/endpoints.ts'
import { Problem } from '../api/client.ts'
import { Form, Submit, Username, useSubmit } from '../parts/forms.tsx'
import { forgetToken, token as session } from '../state/session.ts'
import { ABOUT_PASSWORD, NewPasswordField } from './signed-out.tsx'

/** `ended`: all of it has ended. `invalid`: the link does not work, or no longer. */
type Steps = { token: string; ended: () => void; invalid: () => void }

const isInvalid = (thrown: unknown): boolean => thrown instanceof Problem && thrown.code === 'invalid_token'

/** Shows how many keys and sessions there are; its button ends them, with a new password. */
export function EndAccess({ token, ended, invalid }: Steps) {
  const [found, setFound] = useState<{ email: string; keys: number; sessions: number } | null>(null)
  const [asking, setAsking] = useState(false)
  useEffect(() => {
    getAccess(token).then(setFound, (thrown: unknown) => {
      if (isInvalid(thrown)) invalid()
    })
  }, [])
  if (found === null) return null
  return (
    <>
      <p class="soft" data-testid="access">
        {t.entrance.canUse(found.keys, found.sessions)}
      </p>
      {asking ? (
        <NewPassword token={token} email={found.email} ended={ended} invalid={invalid} />
      ) : (
        <button type="button" class="danger full" onClick={() => setAsking(true)}>
          {t.entrance.endAll}
        </button>
      )}
    </>
  )
}

function NewPassword({ token, email, ended, invalid }: Steps & { email: string }) {
  const { busy, problem, submits } = useSubmit()
  const submit = submits(async ({ password = '' }) => {
    try {
      await endAccess(token, password)
      // The session of this browser has ended with all others.
      if (session.value !== null) forgetToken()
      ended()
    } catch (thrown) {
      if (!isInvalid(thrown)) throw thrown
      invalid()
    }
  })
  return (
    <Form problem={problem} onSubmit={submit} about={ABOUT_PASSWORD}>
      <Username of={email} />
      <NewPasswordField id="password" required />
      <Submit class="danger full" busy={busy} busyText={t.words.fields.ending} verb={t.entrance.endAndChange} />
    </Form>
  )
}
