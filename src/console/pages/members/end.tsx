/**
 * The ways out of an organisation: a member ends their membership, its owner deletes it.
 */
import { useState } from 'preact/hooks'
import { deleteOrganisation, leaveOrganisation } from '../../api/organisations.ts'

import { Confirm, Dialog } from '../../parts/dialogs.tsx'
import { credits } from '../../parts/format.ts'
import { Check, Field, Form, PasswordField, Submit, Username, useSubmit } from '../../parts/forms.tsx'
import { account } from '../../state/account.ts'
import { forgetToken } from '../../state/session.ts'

export function Leave({ name }: { name: string }) {
  const [asking, setAsking] = useState(false)
  return (
    <section class="panel">
      <h2>Leave</h2>
      <p>Your keys of this organisation stop working. Your personal account stays.</p>
      <button type="button" class="danger" onClick={() => setAsking(true)}>
        Leave organisation…
      </button>
      {asking && (
        <Confirm
          title={`Leave ${name}?`}
          verb="Leave"
          busyText="Leaving…"
          danger
          close={() => setAsking(false)}
          work={async () => {
            await leaveOrganisation()
            forgetToken(`You have left ${name}. Sign in to use your own account.`)
          }}
        >
          Your keys are revoked, and you are signed out. Only an owner or admin can invite you again.
        </Confirm>
      )}
    </section>
  )
}

type Props = { id: string; name: string }

export function DeleteOrganisation({ id, name }: Props) {
  const [asking, setAsking] = useState(false)
  return (
    <section class="panel">
      <h2>Delete organisation</h2>
      <p>
        Its name, keys, memberships, card, pictures and videos are deleted. The records of calls, payments and credits
        stay, without its name, because our books need them. To leave it to somebody else, make them the owner.
      </p>
      <button type="button" class="danger" onClick={() => setAsking(true)}>
        Delete organisation…
      </button>
      {asking && <ConfirmDeletion id={id} name={name} close={() => setAsking(false)} />}
    </section>
  )
}

function ConfirmDeletion({ id, name, close }: Props & { close: () => void }) {
  const { busy, problem, submits } = useSubmit()
  const now = account.value
  if (!now) return null
  // Of the conflicts, only that of credits is about something in this form.
  const conflict = problem?.message.includes('Give them up') ? 'giveUp' : undefined
  const submit = submits(async ({ name: typed = '', password = '', giveUp }) => {
    await deleteOrganisation(id, { name: typed.trim(), password, giveUpCredits: giveUp !== undefined })
    forgetToken(`${name} has been deleted. Sign in to use your own account.`)
  })
  return (
    <Dialog title="Delete this organisation?" close={close}>
      <Form problem={problem} onSubmit={submit} about={{ wrong_password: 'password', conflict }}>
        <ul>
          <li>All its keys stop working at once, for every member.</li>
          <li>You are signed out. This cannot be undone.</li>
          {now.debt > 0 && <li>It owes {credits(now.debt)}. It can be deleted when that is repaid.</li>}
          {now.running > 0 && <li>It has running calls. Wait until they have ended.</li>}
        </ul>
        {now.credits > 0 && <Check name="giveUp">Give up the {credits(now.credits)} that are left</Check>}
        <Field
          label="Name of the organisation"
          name="name"
          autoComplete="off"
          required
          hint={
            <>
              Type <strong class="name">{name}</strong> to confirm.
            </>
          }
        />
        <Username of={now.user.email} />
        <PasswordField label="Your password" name="password" autoComplete="current-password" required />
        <Submit
          class="danger"
          busy={busy}
          busyText="Deleting…"
          verb="Delete organisation"
          cancel={close}
          cancelText="Keep it"
        />
      </Form>
    </Dialog>
  )
}
