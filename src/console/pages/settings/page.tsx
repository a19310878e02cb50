/**
 * Profile, address, password, sessions, the theme of the console, and the way out.
 */
import { useState } from 'preact/hooks'
import type { Session } from '../../api/endpoints.ts'
import {
  changePassword,
  changeProfile,
  endOtherSessions,
  endSession,
  getSessions,
  sendTestMail,
} from '../../api/endpoints.ts'
import { Action, Done, Email, Page, Time, ErrorMessage, Loading } from '../../parts/basics.tsx'
import { LanguageChoice } from '../../parts/language-choice.tsx'
import { deviceName } from '../../parts/device.ts'
import { Choice, Field, Form, PasswordField, Submit, Username, useStaying, useSubmit } from '../../parts/forms.tsx'
import { useHasPassword } from '../../parts/own-password.tsx'
import { t } from '../../language/language.ts'
import { account, showUser } from '../../state/account.ts'
import { useLoad } from '../../state/load.ts'
import type { Theme } from '../../state/theme.ts'
import { chooseTheme, theme } from '../../state/theme.ts'
import { ABOUT_PASSWORD, NewPasswordField } from '../signed-out.tsx'
import { Address } from './address.tsx'
import { DeleteAccount } from './delete.tsx'
import { Identities } from './identities.tsx'
import { Passkeys } from './passkeys.tsx'
import { SecondFactor } from './second-factor.tsx'

const words = t.settings

export function SettingsPage() {
  const hasPassword = useHasPassword()
  return (
    <Page title={t.frame.page.settings}>
      <div class="columns">
        <div>
          <Profile />
          <Appearance />
          <Mail />
        </div>
        <div>
          {hasPassword && <Password />}
          <SecondFactor />
          <Passkeys />
          <Identities />
          <Address />
        </div>
      </div>
      <Sessions />
      <DeleteAccount />
    </Page>
  )
}

function Profile() {
  const { busy, problem, outcome, submits } = useStaying()
  const user = account.value?.user
  const submit = submits(async ({ displayName = '', avatarUrl = '' }) => {
    showUser((await changeProfile({ displayName, avatarUrl })).user)
    return words.saved
  })
  return (
    <section class="panel">
      <h2>{words.profile.title}</h2>
      {!user ? (
        <Loading rows={4} />
      ) : (
        <Form problem={problem} onSubmit={submit}>
          <div class="who">
            {user.avatarUrl !== '' && (
              <img src={user.avatarUrl} width="44" height="44" alt="" referrerpolicy="no-referrer" />
            )}
            <span>
              <Email address={user.email} />
              <br />
              <small class="soft">{words.profile.joined(<Time iso={user.createdAt} />, user.emailVerified)}</small>
            </span>
          </div>
          <Field
            label={words.name}
            name="displayName"
            defaultValue={user.displayName}
            maxLength={60}
            autoComplete="name"
          />
          <Field
            label={words.profile.picture}
            name="avatarUrl"
            type="url"
            defaultValue={user.avatarUrl}
            hint={words.profile.pictureHint}
          />
          <Submit busy={busy} busyText={words.saving} verb={words.save} />
          <Done text={outcome} />
        </Form>
      )}
    </section>
  )
}

function Password() {
  const { busy, problem, outcome, form, submits } = useStaying()
  const submit = submits(async ({ currentPassword = '', password = '' }) => {
    await changePassword({ currentPassword, password })
    return words.password.changed
  })
  return (
    <section class="panel">
      <h2>{words.password.title}</h2>
      <Form
        form={form}
        problem={problem}
        onSubmit={submit}
        about={{ ...ABOUT_PASSWORD, wrong_password: 'currentPassword' }}
      >
        <Username of={account.value?.user.email} />
        <PasswordField label={words.password.current} name="currentPassword" autoComplete="current-password" />
        <NewPasswordField />
        <Submit busy={busy} busyText={words.password.changing} verb={words.password.change} />
        <Done text={outcome} />
      </Form>
    </section>
  )
}

const THEMES = Object.entries(words.appearance.themes)

function Appearance() {
  return (
    <section class="panel">
      <h2>{words.appearance.title}</h2>
      <Choice
        label={words.appearance.theme}
        options={THEMES}
        value={theme.value}
        onChange={(event) => chooseTheme(event.currentTarget.value as Theme)}
      />
      <LanguageChoice />
    </section>
  )
}

function Mail() {
  const { busy, problem, run } = useSubmit()
  const [outcome, setOutcome] = useState<string | null>(null)
  const test = (): void => {
    setOutcome(null)
    run(async () => {
      const { transport, to } = await sendTestMail()
      setOutcome(transport === 'smtp' ? words.mail.sent(to) : words.mail.written(to))
    })
  }
  return (
    <section class="panel">
      <h2>{words.mail.title}</h2>
      <p class="soft">{words.mail.about}</p>
      <ErrorMessage problem={problem} />
      <Action class="quiet" busy={busy} busyText={words.mail.sending} onClick={test}>
        {words.mail.send}
      </Action>
      <Done text={outcome} />
    </section>
  )
}

function Sessions() {
  const sessions = useLoad('sessions', getSessions)
  const { busy, problem, run } = useSubmit()
  const end = (session: Session): void =>
    run(async () => {
      await endSession(session.id)
      sessions.change(({ data }) => ({ data: data.filter(({ id }) => id !== session.id) }))
    })
  const endOthers = (): void =>
    run(async () => {
      await endOtherSessions()
      sessions.change(({ data }) => ({ data: data.filter(({ current }) => current) }))
    })
  const others = sessions.data?.data.some(({ current }) => !current) ?? false
  return (
    <section class="panel">
      <div class="row between">
        <h2>{words.sessions.title}</h2>
        {others && (
          <Action class="small danger" busy={busy} busyText={words.sessions.ending} onClick={endOthers}>
            {words.sessions.endOthers}
          </Action>
        )}
      </div>
      <ErrorMessage problem={sessions.problem ?? problem} retry={sessions.reload} />
      {!sessions.data ? (
        !sessions.problem && <Loading rows={3} />
      ) : (
        <ul class="sessions">
          {sessions.data.data.map((session) => (
            <OneSession key={session.id} session={session} end={() => end(session)} />
          ))}
        </ul>
      )}
    </section>
  )
}

function OneSession({ session, end }: { session: Session; end: () => void }) {
  const device = deviceName(session.userAgent)
  return (
    <li>
      <span title={session.userAgent}>
        {device}
        <br />
        <small class="soft">
          {words.sessions.seen(
            session.ip || words.sessions.unknownAddress,
            <Time iso={session.createdAt} />,
            <Time iso={session.lastSeenAt} />,
          )}
        </small>
      </span>
      {session.current ? (
        <small class="soft">{words.sessions.current}</small>
      ) : (
        <button type="button" class="small danger" aria-label={words.sessions.end(device)} onClick={end}>
          {t.frame.signOut}
        </button>
      )}
    </li>
  )
}
