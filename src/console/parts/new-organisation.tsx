/**
 * Makes an organisation, and acts for it.
 */
import { createOrganisation } from '../api/organisations.ts'
import { switchTo } from '../state/acting-for.ts'

import { Dialog } from './dialogs.tsx'
import { Field, Form, Submit, useSubmit } from './forms.tsx'

export function NewOrganisation({ close }: { close: () => void }) {
  const { busy, problem, submits } = useSubmit()
  const submit = submits(async ({ name = '' }) =>
    switchTo((await createOrganisation(name)).organisation.id, '/members'),
  )
  return (
    <Dialog title="New organisation" close={close}>
      <Form problem={problem} onSubmit={submit}>
        <p class="soft">An account for several people, with credits, keys and payments of its own.</p>
        <Field label="Name" name="name" required maxLength={60} autoFocus autoComplete="organization" />
        <Submit foot busy={busy} busyText="Creating…" verb="Create organisation" />
      </Form>
    </Dialog>
  )
}
