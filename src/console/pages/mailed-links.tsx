/**
 * The pages behind mailed links. The token comes in the fragment, which no server, log or Referer ever sees, and is
 * removed from the address bar at once. Only a press of the page's button spends it: mail scanners open links too.
 */
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useState } from 'preact/hooks'
import { Problem } from '../api/client.ts'
import { confirmAddress, getNewAddress, getResetAddress, reset, verify } from '../api/endpoints.ts'
import { Action, ErrorMessage } from '../parts/basics.tsx'
import { Field, Form, Submit, Username, fieldsOf, useSubmit } from '../parts/forms.tsx'
import { tokenIn } from '../parts/mailed-token.ts'
import { loadAccount } from '../state/account.ts'
import { forgetToken, token as session } from '../state/session.ts'
import { EndAccess } from './end-access.tsx'
import { ABOUT_PASSWORD, Card, NewPasswordField } from './signed-out.tsx'

type Stage = 'ready' | 'done' | 'ended' | 'invalid' | 'missing'

/** The token of the address, taken out of the address bar and the history; empty without one. */
function takeToken(): string {
  const token = tokenIn(location.hash) ?? tokenIn(location.search) ?? ''
  if (location.hash !== '' || location.search !== '') history.replaceState(history.state, '', location.pathname)
  return token
}

/**
 * The link in this tab, and its outcome. `link` counts the links: each gets a new form.
 * @param otherwise the token where the address has none
 */
export function useLink(otherwise = '') {
  const [state, setState] = useState(() => begin(0, otherwise))
  useLayoutEffect(() => {
    // Another link opened in the same tab changes only the fragment: no new page begins.
    const again = (): void => {
      if (location.hash !== '') setState((old) => begin(old.link + 1))
    }
    addEventListener('hashchange', again)
    return () => removeEventListener('hashchange', again)
  }, [])
  return {
    ...state,
    come: (stage: Stage) => setState((old) => ({ ...old, stage })),
    paste: (token: string) => setState(({ link }) => ({ token, stage: 'ready', link: link + 1 })),
  }
}

function begin(link: number, otherwise = ''): { token: string; stage: Stage; link: number } {
  const token = takeToken() || otherwise
  return { token, stage: token === '' ? 'missing' : 'ready', link }
}

/** Some mail gateways cut the end of a link off: the mail has its code in words, too. */
export function Missing({ paste }: { paste: (token: string) => void }) {
  const { busy, problem, run } = useSubmit()
  const submit = (event: Event): void => {
    const token = tokenIn(fieldsOf(event)['code'] ?? '')
    run(async () => {
      if (token === null) throw new Problem('invalid_token', 'That is neither a complete link nor its code.')
      paste(token)
    })
  }
  return (
    <Card title="Open the link in our e-mail">
      <p class="soft">
        This page needs the complete link that we sent you. If it was cut off on its way, copy the link or the code from
        the e-mail.
      </p>
      <Form problem={problem} onSubmit={submit} about={{ invalid_token: 'code' }}>
        <Field label="Link or code" name="code" autoComplete="one-time-code" spellcheck={false} required />
        <Submit class="full" busy={busy} verb="Continue" />
      </Form>
    </Card>
  )
}

/** The page of a link that no longer works. @param next what can be done instead */
const Invalid = ({ children, next = <ContinueLink /> }: { children: string; next?: ComponentChildren }) => (
  <Card title="This link no longer works" announce>
    <p class="soft">{children}</p>
    {next}
  </Card>
)

export const ContinueLink = () => (
  <p class="links">
    <a href="/overview">{session.value === null ? 'Sign in' : 'Go to the overview'}</a>
  </p>
)

const SignIn = () => (
  <p class="links">
    <a href="/sign-in">Sign in</a>
  </p>
)

const Ended = () => (
  <Card title="All keys and sessions have ended" announce>
    <p class="soft">Sign in with the new password. Programs need new API keys.</p>
    <SignIn />
  </Card>
)

/** The page of the mail that follows the first proof of an address. */
export function AccessPage() {
  const { token, stage, link, come, paste } = useLink()
  if (stage === 'missing') return <Missing paste={paste} />
  if (stage === 'ended') return <Ended />
  if (stage === 'invalid')
    return (
      <Invalid>
        A link works once, within 24 hours. Keys and sessions can also be ended one by one: sign in, and open Keys and
        Settings.
      </Invalid>
    )
  return (
    <Card title="What can use your account">
      <EndAccess key={link} token={token} ended={() => come('ended')} invalid={() => come('invalid')} />
      <ContinueLink />
    </Card>
  )
}

export function VerifyPage() {
  const { token, stage, link, come, paste } = useLink()
  const [email, setEmail] = useState('It')
  if (stage === 'missing') return <Missing paste={paste} />
  if (stage === 'ended') return <Ended />
  if (stage === 'ready') return <Confirm key={link} {...VERIFY} token={token} come={come} proved={setEmail} />
  if (stage === 'invalid')
    return (
      <Invalid>
        A link works once, within 24 hours. If your address is not verified yet, sign in and request another e-mail.
      </Invalid>
    )
  return (
    <Card title="Your address is verified" announce>
      <p class="soft">
        <span>{email}</span> now belongs to your account.
      </p>
      <EndAccess token={token} ended={() => come('ended')} invalid={() => undefined} />
      <ContinueLink />
    </Card>
  )
}

export function NewAddressPage() {
  const { token, stage, link, come, paste } = useLink()
  const [email, setEmail] = useState('It')
  if (stage === 'missing') return <Missing paste={paste} />
  if (stage === 'ended') return <Ended />
  if (stage === 'ready') return <NewAddress key={link} token={token} come={come} proved={setEmail} />
  if (stage === 'invalid')
    return (
      <Invalid>
        A link works once, within 24 hours, only the newest one works, and only while nobody else has the address. Your
        address has not changed: request another e-mail under Settings.
      </Invalid>
    )
  return (
    <Card title="Your address has changed" announce>
      <p class="soft">
        <span>{email}</span> now belongs to your account. Sign in with it from now on.
      </p>
      <EndAccess token={token} ended={() => come('ended')} invalid={() => undefined} />
      <ContinueLink />
    </Card>
  )
}

type Step = { token: string; come: (stage: Stage) => void }

type Words = { title: string; text: ComponentChildren; button: string; doing: string }

const VERIFY = {
  title: 'Verify your e-mail address',
  text: 'Click to confirm that this address is yours.',
  button: 'Verify my address',
  doing: 'Verifying…',
  prove: verify,
}

const NEW_ADDRESS = {
  title: 'Confirm your new address',
  button: 'Use this address',
  doing: 'Changing…',
  prove: confirmAddress,
}

/** Shows which address the account will have, or at once that a link no longer works. */
function NewAddress({ token, come, proved }: Step & { proved: (email: string) => void }) {
  const [address, setAddress] = useState<string | null>(null)
  useEffect(() => {
    getNewAddress(token).then(
      ({ email }) => (email === null ? come('invalid') : setAddress(email)),
      // The button reports what is wrong.
      () => undefined,
    )
  }, [])
  const text = (
    <>
      Click to make <strong data-testid="new-address">{address ?? 'this'}</strong> the e-mail address of your account.
    </>
  )
  return <Confirm {...NEW_ADDRESS} text={text} token={token} come={come} proved={proved} />
}

type ConfirmProps = Step & Words & { prove: typeof verify; proved: (email: string) => void }

/** Spends a link that proves an address. */
function Confirm({ token, come, proved, prove, title, text, button, doing }: ConfirmProps) {
  const { busy, problem, run } = useSubmit()
  const spend = (): void =>
    run(async () => {
      try {
        proved((await prove(token)).user.email)
        come('done')
        if (session.value !== null) void loadAccount()
      } catch (thrown) {
        if ((thrown as Problem).code !== 'invalid_token') throw thrown
        come('invalid')
      }
    })
  return (
    <Card title={title}>
      <p class="soft">{text}</p>
      <ErrorMessage problem={problem} />
      <Action class="full" busy={busy} busyText={doing} onClick={spend}>
        {problem ? 'Try again' : button}
      </Action>
    </Card>
  )
}

const Again = () => (
  <p class="links">
    <a href="/forgot">Request another e-mail</a>
  </p>
)

export function ResetPage() {
  const { token, stage, link, come, paste } = useLink()
  const [outcome, setOutcome] = useState('')
  if (stage === 'missing') return <Missing paste={paste} />
  if (stage === 'ready') return <Reset key={link} token={token} come={come} say={setOutcome} />
  if (stage === 'invalid')
    return (
      <Invalid next={<Again />}>
        A link works once, within 30 minutes, and only the newest one works. Request another e-mail. Your password has
        not been changed.
      </Invalid>
    )
  return (
    <Card title="Your password has been changed" announce>
      <p class="soft">All sessions of your account have ended. {outcome}</p>
      <SignIn />
    </Card>
  )
}

function Reset({ token, come, say }: Step & { say: (message: string) => void }) {
  const { busy, problem, submits } = useSubmit()
  const [email, setEmail] = useState<string>()
  useEffect(() => {
    getResetAddress(token).then(
      (found) => (found.email === null ? come('invalid') : setEmail(found.email)),
      // The button reports what is wrong.
      () => undefined,
    )
  }, [])
  const submit = submits(async ({ password = '' }) => {
    try {
      say((await reset(token, password)).message)
      // The session of this browser has ended with all others.
      if (session.value !== null) forgetToken()
      come('done')
    } catch (thrown) {
      if ((thrown as Problem).code === 'invalid_token') return come('invalid')
      throw thrown
    }
  })
  return (
    <Card title="Choose a new password">
      <p class="soft">
        This signs you out everywhere. If your address has not been verified, it also ends all API keys of the account.
      </p>
      <Form problem={problem} onSubmit={submit} about={ABOUT_PASSWORD}>
        <Username of={email} />
        <NewPasswordField id="password" required />
        <Submit class="full" busy={busy} busyText="Changing…" verb="Change my password" />
      </Form>
    </Card>
  )
}
