/**
 * The signed-out pages: the card that they share, and sign-in, sign-up and the forgotten password.
 */
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { t } from '../language/language.ts'
import { beginUse, forgot, signInByPasskey, signUp } from '../api/endpoints.ts'
import { Action } from '../parts/basics.tsx'
import { Brand } from '../parts/brand.tsx'
import { Field, Form, PasswordField, Submit, useSubmit } from '../parts/forms.tsx'
import { LanguageChoice } from '../parts/language-choice.tsx'
import { hasPasskeys, usePasskey } from '../parts/passkeys.ts'
import { ProviderButtons, useProviders } from '../parts/providers.tsx'
import { SecondStep, useSignIn } from '../parts/second-step.tsx'
import { withFields } from '../parts/route.ts'
import { keptInvitation } from '../state/invitation.ts'
import { site, titleOf } from '../state/site.ts'
import { signOutNotice, keepToken } from '../state/session.ts'

/** The field that shows the errors of a new password. */
export const ABOUT_PASSWORD = {
  password_too_short: 'password',
  password_too_long: 'password',
  password_needs_letter_and_digit: 'password',
} as const

/** The field that shows the errors of an address. */
export const ABOUT_EMAIL = { invalid_email: 'email', email_taken: 'email' } as const

/** A field for a new password. */
export const NewPasswordField = (props: { label?: string; required?: boolean; id?: string }) => (
  <PasswordField
    label={t.entrance.newPassword}
    {...props}
    name="password"
    autoComplete="new-password"
    hint={t.entrance.passwordHint}
  />
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
      <LanguageChoice />
    </div>
  )
}

/** "Stay signed in" is a choice with a price: docs/console.md. */
const StaySignedIn = () => (
  <label class="check">
    <input type="checkbox" name="stay" />
    {t.entrance.stay}
  </label>
)

/** Whether that box of a button's form is ticked. */
const staysOf = (button: HTMLElement): boolean => new FormData(button.closest('form')!).has('stay')

/** The address of who signs in or registers: that of the invitation which they follow. */
const AddressField = () => (
  <Field
    label={t.entrance.email}
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
      <Card title={t.entrance.confirmSignIn} announce>
        <SecondStep waiting={waiting} {...second} />
      </Card>
    )
  return (
    <Card title={t.entrance.signIn}>
      <p class="soft">{t.entrance.about}</p>
      {signOutNotice.value && (
        <div class="notice" role="status">
          {signOutNotice.value}
        </div>
      )}
      <Form problem={problem} onSubmit={submit}>
        {passwords && (
          <>
            <AddressField />
            <PasswordField label={t.entrance.password} name="password" autoComplete="current-password" required />
          </>
        )}
        <StaySignedIn />
        {passwords && <Submit class="full" busy={busy} busyText={t.entrance.signingIn} verb={t.entrance.signIn} />}
        {hasPasskeys() && (
          <Action
            class="quiet full"
            busy={busy}
            onClick={({ currentTarget: { form } }) => byPasskey(new FormData(form!).has('stay'))}
          >
            {t.entrance.byPasskey}
          </Action>
        )}
        <ProviderButtons stay={staysOf} />
      </Form>
      <p class="links">
        {passwords && <a href={onward('/sign-up')}>{t.entrance.create}</a>}
        {passwords && <a href="/forgot">{t.entrance.forgot}</a>}
        {site.value.publicCatalogue && <a href="/models">{t.entrance.modelsAndPrices}</a>}
        <a href="/docs">{t.frame.page.reference}</a>
        <a href="/help">{t.frame.page.help}</a>
      </p>
    </Card>
  )
}

export function SignUpPage() {
  const onward = useNext()
  const { passwords } = useProviders()
  const { busy, problem, submits } = useSubmit()
  const submit = submits(async ({ email = '', password = '', displayName = '', stay }) =>
    keepToken((await signUp({ email, password, displayName })).token, stay !== undefined),
  )
  return (
    <Card title={t.entrance.create}>
      <p class="soft">{t.entrance.thenKey}</p>
      <Form problem={problem} onSubmit={submit} about={{ ...ABOUT_EMAIL, ...ABOUT_PASSWORD }}>
        {passwords && (
          <>
            <AddressField />
            <NewPasswordField label={t.entrance.password} required />
            <Field label={t.entrance.optionalName} name="displayName" autoComplete="name" maxLength={60} />
          </>
        )}
        <StaySignedIn />
        {passwords && <Submit class="full" busy={busy} busyText={t.entrance.creating} verb={t.entrance.createMine} />}
        <ProviderButtons stay={staysOf} />
      </Form>
      <p class="links">
        <a href={onward('/sign-in')}>{t.entrance.signInInstead}</a>
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
      <Card title={t.entrance.inbox} announce>
        <p class="soft">{t.entrance.linkIsMailed(outcome)}</p>
        <p class="links">
          <a href="/sign-in">{t.entrance.back}</a>
        </p>
      </Card>
    )
  }
  return (
    <Card title={t.entrance.forgot}>
      <p class="soft">{t.entrance.weMail}</p>
      <Form problem={problem} onSubmit={submit} about={ABOUT_EMAIL}>
        <Field label={t.entrance.email} name="email" type="email" autoComplete="username" required />
        <Submit class="full" busy={busy} busyText={t.words.fields.sending} verb={t.entrance.sendLink} />
      </Form>
      <p class="links">
        <a href="/sign-in">{t.entrance.back}</a>
      </p>
    </Card>
  )
}

/** The page for an unknown path. */
export function NotFoundPage() {
  const { url } = useLocation()
  return (
    <Card title={t.entrance.notFound}>
      <p class="soft">{t.entrance.noPageAt(url)}</p>
      <p class="links">
        <a href="/overview">{t.entrance.toOverview}</a>
      </p>
    </Card>
  )
}
