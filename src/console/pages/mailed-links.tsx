/**
 * The pages behind mailed links. The token comes in the fragment, which no server, log or Referer ever sees, and is
 * removed from the address bar at once. Only a press of the page's button spends it: mail scanners open links too.
 */
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useState } from 'preact/hooks'
import { t } from '../language/language.ts'
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
      if (token === null) throw new Problem('invalid_token', t.entrance.neither)
      paste(token)
    })
  }
  return (
    <Card title={t.entrance.openLink}>
      <p class="soft">{t.entrance.needsLink}</p>
      <Form problem={problem} onSubmit={submit} about={{ invalid_token: 'code' }}>
        <Field label={t.entrance.linkOrCode} name="code" autoComplete="one-time-code" spellcheck={false} required />
        <Submit class="full" busy={busy} verb={t.entrance.continue} />
      </Form>
    </Card>
  )
}

/** The page of a link that no longer works. @param next what can be done instead */
const Invalid = ({ children, next = <ContinueLink /> }: { children: string; next?: ComponentChildren }) => (
  <Card title={t.entrance.linkEnded} announce>
    <p class="soft">{children}</p>
    {next}
  </Card>
)

export const ContinueLink = () => (
  <p class="links">
    <a href="/overview">{session.value === null ? t.entrance.signIn : t.entrance.toOverview}</a>
  </p>
)

const SignIn = () => (
  <p class="links">
    <a href="/sign-in">{t.entrance.signIn}</a>
  </p>
)

const Ended = () => (
  <Card title={t.entrance.allEnded} announce>
    <p class="soft">{t.entrance.needNewKeys}</p>
    <SignIn />
  </Card>
)

/** The page of the mail that follows the first proof of an address. */
export function AccessPage() {
  const { token, stage, link, come, paste } = useLink()
  if (stage === 'missing') return <Missing paste={paste} />
  if (stage === 'ended') return <Ended />
  if (stage === 'invalid') return <Invalid>{t.entrance.accessInvalid}</Invalid>
  return (
    <Card title={t.entrance.access}>
      <EndAccess key={link} token={token} ended={() => come('ended')} invalid={() => come('invalid')} />
      <ContinueLink />
    </Card>
  )
}

export function VerifyPage() {
  const { token, stage, link, come, paste } = useLink()
  const [email, setEmail] = useState(t.entrance.it)
  if (stage === 'missing') return <Missing paste={paste} />
  if (stage === 'ended') return <Ended />
  if (stage === 'ready') return <Confirm key={link} {...VERIFY} token={token} come={come} proved={setEmail} />
  if (stage === 'invalid') return <Invalid>{t.entrance.verifyInvalid}</Invalid>
  return (
    <Card title={t.entrance.verified} announce>
      <p class="soft">{t.entrance.itBelongs(<span>{email}</span>)}</p>
      <EndAccess token={token} ended={() => come('ended')} invalid={() => undefined} />
      <ContinueLink />
    </Card>
  )
}

export function NewAddressPage() {
  const { token, stage, link, come, paste } = useLink()
  const [email, setEmail] = useState(t.entrance.it)
  if (stage === 'missing') return <Missing paste={paste} />
  if (stage === 'ended') return <Ended />
  if (stage === 'ready') return <NewAddress key={link} token={token} come={come} proved={setEmail} />
  if (stage === 'invalid') return <Invalid>{t.entrance.addressInvalid}</Invalid>
  return (
    <Card title={t.entrance.addressChanged} announce>
      <p class="soft">{t.entrance.signInWithIt(<span>{email}</span>)}</p>
      <EndAccess token={token} ended={() => come('ended')} invalid={() => undefined} />
      <ContinueLink />
    </Card>
  )
}

type Step = { token: string; come: (stage: Stage) => void }

type Words = { title: string; text: ComponentChildren; button: string; doing: string }

const VERIFY = {
  title: t.entrance.verify,
  text: t.entrance.clickToVerify,
  button: t.entrance.verifyMine,
  doing: t.entrance.verifying,
  prove: verify,
}

const NEW_ADDRESS = {
  title: t.entrance.confirmAddress,
  button: t.entrance.useAddress,
  doing: t.entrance.changing,
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
  const text = t.entrance.clickToChange(<strong data-testid="new-address">{address ?? t.entrance.this}</strong>)
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
        {problem ? t.frame.tryAgain : button}
      </Action>
    </Card>
  )
}

const Again = () => (
  <p class="links">
    <a href="/forgot">{t.entrance.another}</a>
  </p>
)

export function ResetPage() {
  const { token, stage, link, come, paste } = useLink()
  const [outcome, setOutcome] = useState('')
  if (stage === 'missing') return <Missing paste={paste} />
  if (stage === 'ready') return <Reset key={link} token={token} come={come} say={setOutcome} />
  if (stage === 'invalid') return <Invalid next={<Again />}>{t.entrance.resetInvalid}</Invalid>
  return (
    <Card title={t.entrance.passwordChanged} announce>
      <p class="soft">{t.entrance.sessionsEnded(outcome)}</p>
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
    <Card title={t.entrance.choosePassword}>
      <p class="soft">{t.entrance.resetEnds}</p>
      <Form problem={problem} onSubmit={submit} about={ABOUT_PASSWORD}>
        <Username of={email} />
        <NewPasswordField id="password" required />
        <Submit class="full" busy={busy} busyText={t.entrance.changing} verb={t.entrance.changeMine} />
      </Form>
    </Card>
  )
}
