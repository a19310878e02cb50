/**
 * The ways out of an organisation: a member ends their membership, its owner deletes it.
 */
import { useState } from 'preact/hooks'
import { t } from '../../language/language.ts'
import { deleteOrganisation, leaveOrganisation } from '../../api/organisations.ts'

import { Confirm, Dialog } from '../../parts/dialogs.tsx'
import { credits } from '../../parts/format.ts'
import { Check, Field, Form, Submit, Username, useSubmit } from '../../parts/forms.tsx'
import { OwnPassword } from '../../parts/own-password.tsx'
import { account } from '../../state/account.ts'
import { forgetToken } from '../../state/session.ts'

const words = t.members

export function Leave({ name }: { name: string }) {
  const [asking, setAsking] = useState(false)
  return (
    <section class="panel">
      <h2>{words.leave}</h2>
      <p>{words.aboutLeave}</p>
      <button type="button" class="danger" onClick={() => setAsking(true)}>
        {words.askLeave}
      </button>
      {asking && (
        <Confirm
          title={words.leaveTitle(name)}
          verb={words.leave}
          busyText={words.leaving}
          danger
          close={() => setAsking(false)}
          work={async () => {
            await leaveOrganisation()
            forgetToken(words.left(name))
          }}
        >
          {words.leaveHint}
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
      <h2>{words.delete}</h2>
      <p>{words.aboutDelete}</p>
      <button type="button" class="danger" onClick={() => setAsking(true)}>
        {words.askDelete}
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
    forgetToken(words.deleted(name))
  })
  return (
    <Dialog title={words.deleteQuestion} close={close}>
      <Form problem={problem} onSubmit={submit} about={{ wrong_password: 'password', conflict }}>
        <ul>
          <li>{words.keysStop}</li>
          <li>{words.forGood}</li>
          {now.debt > 0 && <li>{words.debt(credits(now.debt))}</li>}
          {now.running > 0 && <li>{words.running}</li>}
        </ul>
        {now.credits > 0 && <Check name="giveUp">{t.settings.end.giveUp(credits(now.credits))}</Check>}
        <Field
          label={words.organisationName}
          name="name"
          autoComplete="off"
          required
          hint={t.settings.end.type(<strong class="name">{name}</strong>)}
        />
        <Username of={now.user.email} />
        <OwnPassword />
        <Submit
          class="danger"
          busy={busy}
          busyText={t.settings.end.deleting}
          verb={words.delete}
          cancel={close}
          cancelText={t.settings.end.keep}
        />
      </Form>
    </Dialog>
  )
}
