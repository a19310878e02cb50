/**
 * The page behind an invitation's link. Visitors sign in or register first, and come back: the token rests in
 * this tab meanwhile.
 */
import { useEffect } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import type { Problem } from '../api/client.ts'
import { acceptInvitation } from '../api/organisations.ts'
import { Action, Email, ErrorMessage } from '../parts/basics.tsx'
import { useSubmit } from '../parts/forms.tsx'
import { switchTo } from '../state/acting-for.ts'
import { hasEnded, signedInAs, token as session } from '../state/session.ts'
import { signOutHere } from '../state/sign-out.ts'
import { ContinueLink, Missing, useLink } from './mailed-links.tsx'
import { Card } from './signed-out.tsx'

const PLACE = 'tollgate.invitation'

/** The token that was stored during a sign-in; empty without one, or where the browser forbids storage. */
function kept(): string {
  try {
    return sessionStorage.getItem(PLACE) ?? ''
  } catch {
    return ''
  }
}

function keep(token: string): void {
  try {
    if (token === '') sessionStorage.removeItem(PLACE)
    else sessionStorage.setItem(PLACE, token)
  } catch {
    // The link in the mail is opened again after the sign-in.
  }
}

export function InvitationPage() {
  const { token, stage, link, come, paste } = useLink(kept())
  const { route } = useLocation()
  if (stage === 'missing') return <Missing paste={paste} />
  /** Signs out; the user who signs in next comes back. */
  const enter = (path: string): void => {
    if (session.peek() !== null) signOutHere()
    keep(token)
    route(`${path}?next=/invitation`)
  }
  if (stage === 'invalid') return <Unusable again={() => enter('/sign-in')} />
  if (stage === 'done') {
    return (
      <Card title="You are already a member" announce>
        <p class="soft">Choose the organisation in the account menu, at the top right.</p>
        <ContinueLink />
      </Card>
    )
  }
  if (session.value !== null && !hasEnded.value) {
    return <Accept key={link} token={token} come={come} another={() => enter('/sign-in')} />
  }
  return (
    <Card title="Join an organisation">
      <p class="soft">Sign in, or create an account, with the e-mail address that was invited.</p>
      <button type="button" class="full" onClick={() => enter('/sign-in')}>
        Sign in
      </button>
      <button type="button" class="full quiet" onClick={() => enter('/sign-up')}>
        Create an account
      </button>
    </Card>
  )
}

type AcceptProps = { token: string; come: (stage: 'done' | 'invalid') => void; another: () => void }

function Accept({ token, come, another }: AcceptProps) {
  const { busy, problem, run } = useSubmit()
  // What was stored is for one return.
  useEffect(() => keep(''), [])
  const accept = (): void =>
    run(async () => {
      try {
        const { organisation } = await acceptInvitation(token)
        await switchTo(organisation.id)
      } catch (thrown) {
        const { code } = thrown as Problem
        if (code !== 'invalid_token' && code !== 'already_member') throw thrown
        come(code === 'invalid_token' ? 'invalid' : 'done')
      }
    })
  return (
    <Card title="Join an organisation">
      <p class="soft">
        You are signed in{' '}
        {signedInAs.value !== null && (
          <>
            as <Email address={signedInAs.value} />
          </>
        )}
        . You become a member as that.
      </p>
      <ErrorMessage problem={problem} />
      <Action class="full" busy={busy} busyText="Joining…" onClick={accept}>
        Accept the invitation
      </Action>
      <button type="button" class="full quiet" onClick={another}>
        Use another account
      </button>
    </Card>
  )
}

/** Somebody with another mailbox only learns that the invitation is not for them. */
const Unusable = ({ again }: { again: () => void }) => (
  <Card title="You cannot use this invitation" announce>
    <p class="soft">
      {signedInAs.value !== null && (
        <>
          You are signed in as <Email address={signedInAs.value} />. An invitation is for the address that it was sent
          to.{' '}
        </>
      )}
      It works once, within 7 days, unless it was revoked or replaced. Ask for another one.
    </p>
    <button type="button" class="full" onClick={again}>
      Use another account
    </button>
    <ContinueLink />
  </Card>
)
