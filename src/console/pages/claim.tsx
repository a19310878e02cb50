/** The page behind the link that claims an imported account. */
import { useLocation } from 'preact-iso'
import { t } from '../language/language.ts'
import type { Problem } from '../api/client.ts'
import { claim } from '../api/endpoints.ts'
import { Field, Form, Submit, useSubmit } from '../parts/forms.tsx'
import { keepToken } from '../state/session.ts'
import { ContinueLink, Missing, useLink } from './mailed-links.tsx'
import { ABOUT_EMAIL, ABOUT_PASSWORD, Card, NewPasswordField } from './signed-out.tsx'

export function ClaimPage() {
  const { token, stage, link, come, paste } = useLink()
  if (stage === 'missing') return <Missing paste={paste} />
  if (stage === 'ready') return <Claim key={link} token={token} invalid={() => come('invalid')} />
  return (
    <Card title={t.entrance.linkEnded} announce>
      <p class="soft">{t.entrance.claimInvalid}</p>
      <ContinueLink />
    </Card>
  )
}

function Claim({ token, invalid }: { token: string; invalid: () => void }) {
  const { route } = useLocation()
  const { busy, problem, submits } = useSubmit()
  const submit = submits(async ({ email = '', password = '' }) => {
    try {
      keepToken((await claim({ token, email, password })).token, false)
      route('/overview', true)
    } catch (thrown) {
      if ((thrown as Problem).code !== 'invalid_token') throw thrown
      invalid()
    }
  })
  return (
    <Card title={t.entrance.claim}>
      <p class="soft">{t.entrance.claimAbout}</p>
      <Form problem={problem} onSubmit={submit} about={{ ...ABOUT_EMAIL, ...ABOUT_PASSWORD }}>
        <Field label={t.entrance.email} name="email" type="email" autoComplete="username" required />
        <NewPasswordField label={t.entrance.password} required />
        <Submit class="full" busy={busy} busyText={t.entrance.claiming} verb={t.entrance.claimMine} />
      </Form>
    </Card>
  )
}
