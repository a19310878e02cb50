/**
 * Where a browser comes back to from a provider, and the page of links that complete a sign-in.
 */
import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { t } from '../language/language.ts'
import { beginUse, signIn, signInByPasskey } from '../api/endpoints.ts'
import { problemOf } from '../api/client.ts'
import type { Follows } from '../api/providers.ts'
import { showInvitation } from '../api/organisations.ts'
import { askForSignInMail, finishSignIn, signInByMail } from '../api/providers.ts'
import { Action, Email, ErrorMessage } from '../parts/basics.tsx'
import { Field, Form, PasswordField, Submit, useSubmit } from '../parts/forms.tsx'
import { hasPasskeys, usePasskey } from '../parts/passkeys.ts'
import { useProviders } from '../parts/providers.tsx'
import { safeNext } from '../parts/next-page.ts'
import { SecondStep } from '../parts/second-step.tsx'
import { keepInvitation, keptInvitation } from '../state/invitation.ts'
import { keepToken } from '../state/session.ts'
import { keptReturn } from '../state/provider-return.ts'
import { Missing, useLink } from './mailed-links.tsx'
import { Card } from './signed-out.tsx'

const words = t.providers

/** Where a sign-in leads: to the invitation that it came with, if that was not accepted: its page explains why. */
async function placeAfter(next: string): Promise<string> {
  const invitation = keptInvitation()
  if (invitation === null) return safeNext(next)
  if ((await showInvitation(invitation.token)).invitation) return '/invitation'
  keepInvitation(null)
  return '/overview'
}

/** Lets the user in, or shows what is asked for first. */
function useFollowing() {
  const { route } = useLocation()
  const [follows, setFollows] = useState<Follows | null>(null)
  const { next, stay } = keptReturn()
  const enter = (token: string, stays: boolean): void => {
    keepToken(token, stays)
    placeAfter(next).then(
      (place) => route(place, true),
      () => route('/overview', true),
    )
  }
  return {
    follows,
    stay,
    enter,
    take: (found: Follows): void => {
      if ('token' in found) enter(found.token, stay)
      else if ('done' in found) route(safeNext(next), true)
      else setFollows(found)
    },
  }
}

/** The page after a provider. */
export function ProviderReturnPage({ query }: { query: Record<string, string> }) {
  const [failure, setFailure] = useState<string | null>(query['problem'] ? words.failed : null)
  const following = useFollowing()
  useEffect(() => {
    if (failure === null)
      finishSignIn().then(following.take, (thrown: unknown) => setFailure(problemOf(thrown).message))
  }, [])
  if (failure !== null) return <Failed text={failure} />
  return <Next {...following} />
}

const Failed = ({ text }: { text: string }) => (
  <Card title={words.notSignedIn} announce>
    <p class="soft">{text}</p>
    <p class="links">
      <a href="/sign-in">{t.entrance.back}</a>
    </p>
  </Card>
)

function Next({ follows, stay, enter, take }: ReturnType<typeof useFollowing>) {
  const { route } = useLocation()
  if (follows === null)
    return (
      <Card title={t.entrance.signingIn}>
        <p class="soft">{words.oneMoment}</p>
      </Card>
    )
  if ('ticket' in follows)
    return (
      <Card title={t.entrance.confirmSignIn} announce>
        <SecondStep waiting={{ ...follows, stay }} keep={enter} again={() => route('/sign-in', true)} />
      </Card>
    )
  return <Prove pending={'pending' in follows ? follows.pending : null} take={take} />
}

type ProveProps = { pending: { provider: string; email: string } | null; take: (follows: Follows) => void }

/** Asks for the password of the account that is to be connected, or for a mail to it. */
function Prove({ pending, take }: ProveProps) {
  const { passwords } = useProviders()
  const [sent, setSent] = useState<string | null>(null)
  const { busy, problem, run, submits } = useSubmit()
  const mail = async (email: string): Promise<void> => setSent((await askForSignInMail(email)).message)
  const byPassword = submits(async ({ password = '' }) =>
    take(await signIn({ email: pending?.email ?? '', password, pending: true })),
  )
  const byPasskey = (): void =>
    run(async () => {
      const response = await usePasskey((await beginUse({})).options)
      take(await signInByPasskey({ response, pending: true }))
    })
  const byMail = submits(({ email = '' }) => mail(email.trim()))
  if (sent !== null)
    return (
      <Card title={t.entrance.inbox} announce>
        <p class="soft">{words.linkIsMailed(sent)}</p>
      </Card>
    )
  if (pending === null)
    return (
      <Card title={words.whichAddress} announce>
        <p class="soft">{words.noAddress}</p>
        <Form problem={problem} onSubmit={byMail} about={{ invalid_email: 'email' }}>
          <Field label={t.entrance.email} name="email" type="email" autoComplete="username" required />
          <Submit class="full" busy={busy} busyText={t.words.fields.sending} verb={t.entrance.sendLink} />
        </Form>
      </Card>
    )
  return (
    <Card title={words.connectTo(pending.provider)} announce>
      <p class="soft">{words.isTaken(<Email address={pending.email} />)}</p>
      {passwords ? (
        <Form problem={problem} onSubmit={byPassword}>
          <PasswordField
            label={t.entrance.yourPassword}
            name="password"
            autoComplete="current-password"
            required
            autoFocus
          />
          <Submit class="full" busy={busy} busyText={words.connecting} verb={words.connect} />
        </Form>
      ) : (
        <ErrorMessage problem={problem} />
      )}
      {hasPasskeys() && (
        <Action class="quiet full" busy={busy} onClick={byPasskey}>
          {t.entrance.usePasskey}
        </Action>
      )}
      <Action class="quiet full" busy={busy} onClick={() => run(() => mail(pending.email))}>
        {words.mailInstead}
      </Action>
    </Card>
  )
}

/** The page of a mailed link, and of one by an operator. */
export function SignInLinkPage() {
  const { token, stage, paste, link, come } = useLink()
  const following = useFollowing()
  const { busy, problem, run } = useSubmit()
  if (stage === 'missing') return <Missing paste={paste} />
  if (stage === 'invalid') return <Failed text={words.linkInvalid} />
  if (following.follows) return <Next {...following} />
  const spend = (): void =>
    run(async () => {
      try {
        following.take(await signInByMail(token))
      } catch (thrown) {
        if (problemOf(thrown).code !== 'invalid_token') throw thrown
        come('invalid')
      }
    })
  return (
    <Card key={link} title={words.complete}>
      <ErrorMessage problem={problem} />
      <Action class="full" busy={busy} busyText={t.entrance.signingIn} onClick={spend}>
        {t.entrance.signIn}
      </Action>
    </Card>
  )
}
