/**
 * The second step of a sign-in: a code of the authenticator app, a passkey, or a recovery code.
 */
import { useState } from 'preact/hooks'
import { t } from '../language/language.ts'
import type { SecondStep as Half } from '../api/endpoints.ts'
import { beginUse, passSecondFactor, signIn } from '../api/endpoints.ts'
import { problemOf } from '../api/client.ts'
import { Action } from './basics.tsx'
import { CodeField, Field, Form, Submit, useSubmit } from './forms.tsx'

import { hasPasskeys, usePasskey } from './passkeys.ts'

/** A sign-in that waits for its second step, and whether it is to last beyond the tab. */
type Waiting = Half & { stay: boolean }

/**
 * Signs in by a password.
 * @param keep takes the token of the session
 * @returns `waiting`: the second step that follows, for `SecondStep`.
 */
export function useSignIn(keep: (token: string, stay: boolean) => void) {
  const [waiting, setWaiting] = useState<Waiting | null>(null)
  return {
    waiting,
    keep,
    again: () => setWaiting(null),
    begin: async (fields: { email: string; password: string }, stay: boolean): Promise<void> => {
      const answer = await signIn(fields)
      if ('token' in answer) keep(answer.token, stay)
      else setWaiting({ ...answer, stay })
    },
  }
}

type Props = { waiting: Waiting; keep: (token: string, stay: boolean) => void; again: () => void }

/** Asks for the second factor. When the ticket has ended, the sign-in begins again. */
export function SecondStep({ waiting: { ticket, secondFactor, stay }, keep, again }: Props) {
  const [byRecovery, setByRecovery] = useState(!secondFactor.includes('totp'))
  const { busy, problem, run, submits } = useSubmit()
  const pass = async (step: Omit<Parameters<typeof passSecondFactor>[0], 'ticket'>): Promise<void> => {
    const { token } = await passSecondFactor({ ticket, ...step }).catch(ended)
    keep(token, stay)
  }
  const ended = (thrown: unknown): never => {
    if (problemOf(thrown).code === 'invalid_ticket') again()
    throw thrown
  }
  const submit = submits(({ code = '', recoveryCode = '' }) => pass(byRecovery ? { recoveryCode } : { code }))
  const byPasskey = (): void =>
    run(async () => pass({ passkey: await usePasskey((await beginUse({ ticket }).catch(ended)).options) }))
  return (
    <Form
      key={byRecovery}
      problem={problem}
      onSubmit={submit}
      about={{ invalid_credentials: byRecovery ? 'recoveryCode' : 'code' }}
    >
      {byRecovery ? (
        <Field
          label={t.entrance.recoveryCode}
          name="recoveryCode"
          autoComplete="off"
          spellcheck={false}
          required
          autoFocus
        />
      ) : (
        <CodeField autoFocus />
      )}
      <Submit class="full" busy={busy} busyText={t.entrance.checking} verb={t.entrance.continue} />
      <p class="links">
        {secondFactor.includes('passkey') && hasPasskeys() && (
          <Action class="quiet small" busy={busy} onClick={byPasskey}>
            {t.entrance.usePasskey}
          </Action>
        )}
        {secondFactor.includes('totp') && secondFactor.includes('recovery') && (
          <button type="button" class="quiet small" onClick={() => setByRecovery(!byRecovery)}>
            {byRecovery ? t.entrance.useApp : t.entrance.useRecovery}
          </button>
        )}
        <button type="button" class="quiet small" onClick={again}>
          {t.entrance.stepBack}
        </button>
      </p>
    </Form>
  )
}
