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
import { deviceName } from '../../parts/device.ts'
import { Choice, Field, Form, PasswordField, Submit, Username, useStaying, useSubmit } from '../../parts/forms.tsx'
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

export function SettingsPage() {
  return (
    <Page title="Settings">
      <div class="columns">
        <div>
          <Profile />
          <Appearance />
          <Mail />
        </div>
        <div>
          <Password />
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
    return 'Saved.'
  })
  return (
    <section class="panel">
      <h2>Profile</h2>
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
              <small class="soft">
                Joined <Time iso={user.createdAt} /> · address {user.emailVerified ? 'verified' : 'not verified yet'}
              </small>
            </span>
          </div>
          <Field label="Name" name="displayName" defaultValue={user.displayName} maxLength={60} autoComplete="name" />
          <Field
            label="Picture"
            name="avatarUrl"
            type="url"
            defaultValue={user.avatarUrl}
            hint="The link to a picture, beginning with https://. Leave empty for none."
          />
          <Submit busy={busy} busyText="Saving…" verb="Save" />
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
    return 'Password changed. All other sessions have ended.'
  })
  return (
    <section class="panel">
      <h2>Password</h2>
      <Form
        form={form}
        problem={problem}
        onSubmit={submit}
        about={{ ...ABOUT_PASSWORD, wrong_password: 'currentPassword' }}
      >
        <Username of={account.value?.user.email} />
        <PasswordField label="Current password" name="currentPassword" autoComplete="current-password" />
        <NewPasswordField />
        <Submit busy={busy} busyText="Changing…" verb="Change password" />
        <Done text={outcome} />
      </Form>
    </section>
  )
}

const THEMES = [
  ['system', 'Match the system'],
  ['light', 'Light'],
  ['dark', 'Dark'],
] as const

function Appearance() {
  return (
    <section class="panel">
      <h2>Appearance</h2>
      <Choice
        label="Theme"
        options={THEMES}
        value={theme.value}
        onChange={(event) => chooseTheme(event.currentTarget.value as Theme)}
      />
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
      setOutcome(
        transport === 'smtp'
          ? `Sent to ${to}.`
          : `No mail server is configured. The e-mail was written to a file; nothing was sent to ${to}.`,
      )
    })
  }
  return (
    <section class="panel">
      <h2>Test e-mail</h2>
      <p class="soft">Check that our e-mails reach you.</p>
      <ErrorMessage problem={problem} />
      <Action class="quiet" busy={busy} busyText="Sending…" onClick={test}>
        Send me a test e-mail
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
        <h2>Sessions</h2>
        {others && (
          <Action class="small danger" busy={busy} busyText="Signing out…" onClick={endOthers}>
            Sign out everywhere else
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
          {session.ip || 'unknown address'} · signed in <Time iso={session.createdAt} /> · last seen{' '}
          <Time iso={session.lastSeenAt} />
        </small>
      </span>
      {session.current ? (
        <small class="soft">this session</small>
      ) : (
        <button type="button" class="small danger" aria-label={`Sign out ${device}`} onClick={end}>
          Sign out
        </button>
      )}
    </li>
  )
}
