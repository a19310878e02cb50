/**
 * The end of an account, by its owner: what goes and what stays is shown before.
 */
import { useState } from 'preact/hooks'
import { t } from '../../language/language.ts'
import { deleteAccount } from '../../api/endpoints.ts'
import { Dialog } from '../../parts/dialogs.tsx'
import { credits } from '../../parts/format.ts'
import { Check, Field, Form, Submit, useSubmit } from '../../parts/forms.tsx'
import { OwnPassword } from '../../parts/own-password.tsx'
import { account } from '../../state/account.ts'
import { forgetToken } from '../../state/session.ts'

const words = t.settings.end

export function DeleteAccount() {
  const [asking, setAsking] = useState(false)
  // What would be lost with it, credits above all, is shown there.
  if (account.value?.organisation) {
    return (
      <section class="panel">
        <h2>{words.title}</h2>
        <p class="soft">{words.switchFirst}</p>
      </section>
    )
  }
  return (
    <section class="panel">
      <h2>{words.title}</h2>
      <p>{words.about}</p>
      <button type="button" class="danger" onClick={() => setAsking(true)}>
        {words.ask}
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
    forgetToken(words.deleted)
  })
  return (
    <Dialog title={words.question} close={close}>
      <Form problem={problem} onSubmit={submit} about={{ wrong_password: 'password', conflict }}>
        <ul>
          <li>{words.atOnce}</li>
          <li>{words.pictures}</li>
          <li>{words.forGood}</li>
          {now.debt > 0 && <li>{words.debt(credits(now.debt))}</li>}
          {now.running > 0 && <li>{words.running}</li>}
        </ul>
        {left > 0 && <Check name="giveUp">{words.giveUp(credits(left))}</Check>}
        <Field
          label={t.entrance.email}
          name="email"
          type="email"
          autoComplete="off"
          required
          hint={words.type(<strong>{now.user.email}</strong>)}
        />
        <OwnPassword />
        <Submit
          class="danger"
          busy={busy}
          busyText={words.deleting}
          verb={words.delete}
          cancel={close}
          cancelText={words.keep}
        />
      </Form>
    </Dialog>
  )
}
