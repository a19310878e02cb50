/**
 * The page behind an invitation's link. Visitors sign in or register first, and come back: the token is stored in this
 * tab meanwhile.
 */
import { useEffect } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { t } from '../language/language.ts'
import type { Problem } from '../api/client.ts'
import type { ShownInvitation } from '../api/organisations.ts'
import { acceptInvitation, showInvitation } from '../api/organisations.ts'
import { Action, Email, ErrorMessage } from '../parts/basics.tsx'
import { useSubmit } from '../parts/forms.tsx'
import { switchTo } from '../state/acting-for.ts'
import { keepInvitation, keptInvitation } from '../state/invitation.ts'
import { useLoad } from '../state/load.ts'
import { hasEnded, signedInAs, token as session } from '../state/session.ts'
import { signOutHere } from '../state/sign-out.ts'
import { ContinueLink, Missing, useLink } from './mailed-links.tsx'
import { Card } from './signed-out.tsx'

const words = t.members

/** What an invitation is to; null while that is not known. */
type Shown = NonNullable<ShownInvitation['invitation']>

export function InvitationPage() {
  const { token, stage, link, come, paste } = useLink(keptInvitation()?.token ?? '')
  const shown = useLoad(`invitation ${token}`, async () =>
    token === '' ? { invitation: null } : showInvitation(token),
  )
  const { route } = useLocation()
  if (stage === 'missing') return <Missing paste={paste} />
  const invitation = shown.data?.invitation ?? null
  /** Signs out; the user who signs in next comes back. */
  const enter = (path: string): void => {
    if (session.peek() !== null) signOutHere()
    keepInvitation({ token, email: invitation?.email ?? '' })
    route(`${path}?next=/invitation`)
  }
  if (stage === 'invalid') return <Unusable again={() => enter('/sign-in')} />
  if (stage === 'done') {
    return (
      <Card title={words.alreadyMember} announce>
        <p class="soft">{words.chooseIt}</p>
        <ContinueLink />
      </Card>
    )
  }
  if (shown.data && invitation === null) return <Unusable again={() => enter('/sign-in')} />
  if (session.value !== null && !hasEnded.value) {
    return <Accept key={link} token={token} invitation={invitation} come={come} another={() => enter('/sign-in')} />
  }
  return (
    <Card title={titleOf(invitation)}>
      <About invitation={invitation} />
      <ErrorMessage problem={shown.problem} retry={shown.reload} />
      <button type="button" class="full" onClick={() => enter('/sign-in')}>
        {t.entrance.signIn}
      </button>
      <button type="button" class="full quiet" onClick={() => enter('/sign-up')}>
        {t.frame.createAccount}
      </button>
    </Card>
  )
}

const titleOf = (invitation: Shown | null): string => words.join(invitation?.organisation)

/** Who invites whom. */
const About = ({ invitation }: { invitation: Shown | null }) => (
  <p class="soft" data-testid="invitation">
    {invitation
      ? words.invites(<Email address={invitation.invitedBy} />, <Email address={invitation.email} />)
      : words.signInAs}
  </p>
)

type AcceptProps = {
  token: string
  invitation: Shown | null
  come: (stage: 'done' | 'invalid') => void
  another: () => void
}

function Accept({ token, invitation, come, another }: AcceptProps) {
  const { busy, problem, run } = useSubmit()
  // What was stored is for one return.
  useEffect(() => keepInvitation(null), [])
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
  const own = signedInAs.value
  const isForAnother = invitation !== null && own !== null && own.toLowerCase() !== invitation.email
  return (
    <Card title={titleOf(invitation)}>
      {isForAnother ? (
        <div class="notice" role="status">
          <span>{words.isFor(<Email address={invitation.email} />, <Email address={own} />)}</span>
        </div>
      ) : (
        <p class="soft" data-testid="invitation">
          {invitation && words.invitesYou(<Email address={invitation.invitedBy} />, invitation.organisation)}
          {own !== null && words.joinAs(<Email address={own} />)}
        </p>
      )}
      <ErrorMessage problem={problem} />
      <Action class={isForAnother ? 'full quiet' : 'full'} busy={busy} busyText={words.joining} onClick={accept}>
        {words.accept}
      </Action>
      <button type="button" class={isForAnother ? 'full' : 'full quiet'} onClick={another}>
        {words.another}
      </button>
    </Card>
  )
}

/** Somebody with another mailbox only learns that the invitation is not for them. */
const Unusable = ({ again }: { again: () => void }) => (
  <Card title={words.unusable} announce>
    <p class="soft">
      {signedInAs.value !== null && words.notFor(<Email address={signedInAs.value} />)}
      {words.once}
    </p>
    <button type="button" class="full" onClick={again}>
      {words.another}
    </button>
    <ContinueLink />
  </Card>
)
