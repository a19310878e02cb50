/**
 * Asks a user who is signed in for their password, a code of their app, or a passkey.
 */
import { useState } from 'preact/hooks'
import { t } from '../language/language.ts'
import { beginUse, prove } from '../api/endpoints.ts'
import { getIdentities } from '../api/providers.ts'
import { account } from '../state/account.ts'
import { useLoad } from '../state/load.ts'
import { wanted } from '../state/proof.ts'
import { keepReturn } from '../state/provider-return.ts'
import { Action } from './basics.tsx'
import { Dialog } from './dialogs.tsx'
import { CodeField, Form, Submit, Username, useSubmit } from './forms.tsx'
import { OwnPassword, useFactors, useHasPassword } from './own-password.tsx'
import { hasPasskeys, usePasskey } from './passkeys.ts'

/** The dialog, while a request waits for a proof. */
export const ProofDialog = () => (wanted.value === null ? null : <Proof end={wanted.value.end} />)

function Proof({ end }: { end: (isProven: boolean) => void }) {
  const factors = useFactors()
  const identities = useLoad('identities', getIdentities)
  const hasPassword = useHasPassword()
  const [prefersCode, setPrefersCode] = useState(false)
  const byCode = factors.data?.totp === true && (prefersCode || !hasPassword)
  const { busy, problem, run, submits } = useSubmit()
  const byPasskey = (): void =>
    run(async () => {
      await prove({ passkey: await usePasskey((await beginUse({})).options) })
      end(true)
    })
  const atProvider = (): void =>
    run(async () => {
      const answer = await prove({ provider: true })
      keepReturn({ next: location.pathname, stay: false })
      if ('url' in answer) location.assign(answer.url)
    })
  const submit = submits(async ({ password = '', code = '' }) => {
    await prove(byCode ? { code } : { password })
    end(true)
  })
  return (
    <Dialog title={t.entrance.prove} close={() => end(false)}>
      <p class="soft">{t.entrance.whyProve}</p>
      <Form key={byCode} problem={problem} onSubmit={submit} about={ABOUT_PROOF}>
        <Username of={account.value?.user.email} />
        {byCode ? <CodeField /> : <OwnPassword />}
        {factors.data?.totp && hasPassword && (
          <button type="button" class="quiet small" onClick={() => setPrefersCode(!byCode)}>
            {byCode ? t.entrance.usePassword : t.entrance.useCode}
          </button>
        )}
        {(factors.data?.passkeys ?? 0) > 0 && hasPasskeys() && (
          <Action class="quiet small" busy={busy} onClick={byPasskey}>
            {t.entrance.usePasskey}
          </Action>
        )}
        {(!hasPassword || (identities.data?.data.length ?? 0) > 0) && (
          <Action class="quiet small" busy={busy} onClick={atProvider}>
            {t.providers.again}
          </Action>
        )}
        {(byCode || hasPassword) && (
          <Submit busy={busy} busyText={t.entrance.checking} verb={t.entrance.continue} cancel={() => end(false)} />
        )}
      </Form>
    </Dialog>
  )
}

const ABOUT_PROOF = { wrong_password: 'password', invalid_credentials: 'code' } as const
