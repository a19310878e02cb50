/**
 * The signed-out pages: the card that they share, and sign-in, sign-up and the forgotten password.
 */
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { beginUse, forgot, signInByPasskey, signUp } from '../api/endpoints.ts'
import { Action } from '../parts/basics.tsx'
import { Brand } from '../parts/brand.tsx'
import { Field, Form, PasswordField, Submit, useSubmit } from '../parts/forms.tsx'
import { hasPasskeys, usePasskey } from '../parts/passkeys.ts'
import { ProviderButtons, useProviders } from '../parts/providers.tsx'
import { SecondStep, useSignIn } from '../parts/second-step.tsx'
import { withFields } from '../parts/route.ts'
import { keptInvitation } from '../state/invitation.ts'
import { site, titleOf } from '../state/site.ts'
import { signOutNotice, keepToken } from '../state/session.ts'

const PASSWORD_HINT = '8 to 72 characters, with at least one letter and one digit.'

/** The field that shows the errors of a new password. */
export const ABOUT_PASSWORD = {
  password_too_short: 'password',
  password_too_long: 'password',
  password_needs_letter_and_digit: 'password',
} as const

const ABOUT_EMAIL = { invalid_email: 'email', email_taken: 'email' } as const

/** A field for a new password. */
export const NewPasswordField = (props: { label?: string; required?: boolean; id?: string }) => (
  <PasswordField label="New password" {...props} name="password" autoComplete="new-password" hint={PASSWORD_HINT} />
)

type CardProps = { title: string; announce?: boolean; wide?: boolean; children: ComponentChildren }

/** The narrow frame of the pages outside. Its heading takes the focus when its text is new. */
export function Card({ title, announce = false, wide = false, children }: CardProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  // With the heading, not after it was drawn: a key that is pressed then must meet what is new.
  useLayoutEffect(() => {
    if (announce) heading.current?.focus()
  }, [title, announce])
  const named = titleOf(title)
  useLayoutEffect(() => {
    document.title = named
  }, [named])
  return (
    <div class="entrance">
      <Brand href="/" size={32} />
      <main class={wide ? 'card wide' : 'card'}>
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {children}
      </main>
    </div>
  )
}

/** "Stay signed in" is a choice with a price: docs/console.md. */
const StaySignedIn = () => (
  <label class="check">
    <input type="checkbox" name="stay" />
    Stay signed in on this device
  </label>
)

/** Whether that box of a button's form is ticked. */
const staysOf = (button: HTMLElement): boolean => new FormData(button.closest('form')!).has('stay')

/** The address of who signs in or registers: that of the invitation which they follow. */
const AddressField = () => (
  <Field
    label="E-mail address"
    name="email"
    type="email"
    autoComplete="username"
    defaultValue={keptInvitation()?.email}
    required
  />
)

/** The way between signing in and registering keeps where to go afterwards. */
function useNext(): (path: string) => string {
  const { query } = useLocation()
  return (path) => withFields(path, {}, { next: query['next'] })
}

export function SignInPage() {
  const onward = useNext()
  const { busy, problem, run, submits } = useSubmit()
  const { waiting, begin, ...second } = useSignIn(keepToken)
  const { passwords } = useProviders()
  const byPasskey = (stay: boolean): void =>
    run(async () => {
      const { options } = await beginUse({})
      keepToken((await signInByPasskey({ response: await usePasskey(options) })).token, stay)
    })
  const submit = submits(({ email = '', password = '', stay }) => begin({ email, password }, stay !== undefined))
  if (waiting)
    return (
      <Card title="Confirm your sign-in" announce>
        <SecondStep waiting={waiting} {...second} />
      </Card>
    )
  return (
    <Card title="Sign in">
      <p class="soft">One gateway to image, video and chat models, paid for with prepaid credits.</p>
      {signOutNotice.value && (
        <div class="notice" role="status">
          {signOutNotice.value}
        </div>
      )}
      <Form problem={problem} onSubmit={submit}>
        {passwords && (
          <>
            <AddressField />
            <PasswordField label="Password" name="password" autoComplete="current-password" required />
          </>
        )}
        <StaySignedIn />
        {passwords && <Submit class="full" busy={busy} busyText="Signing in…" verb="Sign in" />}
        {hasPasskeys() && (
          <Action
            class="quiet full"
            busy={busy}
            onClick={({ currentTarget: { form } }) => byPasskey(new FormData(form!).has('stay'))}
          >
            Sign in with a passkey
          </Action>
        )}
        <ProviderButtons stay={staysOf} />
      </Form>
      <p class="links">
        {passwords && <a href={onward('/sign-up')}>Create an account</a>}
        {passwords && <a href="/forgot">Forgot your password?</a>}
        {site.value.publicCatalogue && <a href="/models">Models and prices</a>}
        <a href="/docs">API reference</a>
        <a href="/help">Help</a>
      </p>
    </Card>
  )
}

export function SignUpPage() {
  const onward = useNext()
  const { busy, problem, submits } = useSubmit()
  const submit = submits(async ({ email = '', password = '', displayName = '', stay }) =>
    keepToken((await signUp({ email, password, displayName })).token, stay !== undefined),
  )
  return (
    <Card title="Create an account">
      <p class="soft">Then create a key and call your first model.</p>
      <Form problem={problem} onSubmit={submit} about={{ ...ABOUT_EMAIL, ...ABOUT_PASSWORD }}>
        <AddressField />
        <NewPasswordField label="Password" required />
        <Field label="Name (optional)" name="displayName" autoComplete="name" maxLength={60} />
        <StaySignedIn />
        <Submit class="full" busy={busy} busyText="Creating your account…" verb="Create my account" />
        <ProviderButtons stay={staysOf} />
      </Form>
      <p class="links">
        <a href={onward('/sign-in')}>Sign in instead</a>
      </p>
    </Card>
  )
}

export function ForgotPage() {
  const { busy, problem, submits } = useSubmit()
  const [outcome, setOutcome] = useState<string | null>(null)
  const submit = submits(async ({ email = '' }) => setOutcome((await forgot(email)).message))
  if (outcome !== null) {
    return (
      <Card title="Check your inbox" announce>
        <p class="soft">{outcome} The link works once, within 30 minutes.</p>
        <p class="links">
          <a href="/sign-in">Back to sign-in</a>
        </p>
      </Card>
    )
  }
  return (
    <Card title="Forgot your password?">
      <p class="soft">We will e-mail you a link to choose a new one.</p>
      <Form problem={problem} onSubmit={submit} about={ABOUT_EMAIL}>
        <Field label="E-mail address" name="email" type="email" autoComplete="username" required />
        <Submit class="full" busy={busy} busyText="Sending…" verb="Send me a link" />
      </Form>
      <p class="links">
        <a href="/sign-in">Back to sign-in</a>
      </p>
    </Card>
  )
}

/** The page for an unknown path. */
export function NotFoundPage() {
  const { url } = useLocation()
  return (
    <Card title="Page not found">
      <p class="soft">There is no page at {url}.</p>
      <p class="links">
        <a href="/overview">Go to the overview</a>
      </p>
    </Card>
  )
}
