/**
 * The end of an account, by its owner: what goes and what stays is shown before.
 */
import { useState } from 'preact/hooks'
import { deleteAccount } from '../../api/endpoints.ts'

import { Dialog } from '../../parts/dialogs.tsx'
import { credits } from '../../parts/format.ts'
import { Check, Field, Form, PasswordField, Submit, useSubmit } from '../../parts/forms.tsx'
import { account } from '../../state/account.ts'
import { forgetToken } from '../../state/session.ts'

export function DeleteAccount() {
  const [asking, setAsking] = useState(false)
  // What would be lost with it, credits above all, is shown there.
  if (account.value?.organisation) {
    return (
      <section class="panel">
        <h2>Delete account</h2>
        <p class="soft">Switch to your personal account to delete it.</p>
      </section>
    )
  }
  return (
    <section class="panel">
      <h2>Delete account</h2>
      <p>
        Your address, name, sessions, keys, card, e-mails, pictures and videos are deleted. The records of your calls,
        payments and credits stay, without your name, because our books need them. This cannot be undone.
      </p>
      <button type="button" class="danger" onClick={() => setAsking(true)}>
        Delete my account…
      </button>
      {asking && <Confirm close={() => setAsking(false)} />}
    </section>
  )
}

function Confirm({ close }: { close: () => void }) {
  const { busy, problem, submits } = useSubmit()
  const now = account.value
  if (!now) return null
  const left = now.credits
  // Of the conflicts, only that of credits is about something in this form.
  const conflict = problem?.message.includes('Give them up') ? 'giveUp' : undefined
  const submit = submits(async ({ email = '', password = '', giveUp }) => {
    await deleteAccount({ email: email.trim(), password, giveUpCredits: giveUp !== undefined })
    forgetToken('Your account has been deleted.')
  })
  return (
    <Dialog title="Delete your account?" close={close}>
      <Form problem={problem} onSubmit={submit} about={{ wrong_password: 'password', conflict }}>
        <ul>
          <li>All keys stop working and all sessions end at once.</li>
          <li>Images and videos are removed within minutes.</li>
          <li>This cannot be undone. You can register with the same address again, as a new customer.</li>
          {now.debt > 0 && <li>You owe {credits(now.debt)}. The account can be deleted when that is repaid.</li>}
          {now.running > 0 && <li>You have running calls. Wait until they have ended.</li>}
        </ul>
        {left > 0 && <Check name="giveUp">Give up the {credits(left)} that are left</Check>}
        <Field
          label="E-mail address"
          name="email"
          type="email"
          autoComplete="off"
          required
          hint={
            <>
              Type <strong>{now.user.email}</strong> to confirm.
            </>
          }
        />
        <PasswordField label="Your password" name="password" autoComplete="current-password" required />
        <Submit
          class="danger"
          busy={busy}
          busyText="Deleting…"
          verb="Delete my account"
          cancel={close}
          cancelText="Keep it"
        />
      </Form>
    </Dialog>
  )
}
