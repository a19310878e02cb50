/**
 * Makes an organisation, and acts for it.
 */
import { t } from '../language/language.ts'
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
    <Dialog title={t.frame.newOrganisation} close={close}>
      <Form problem={problem} onSubmit={submit}>
        <p class="soft">{t.frame.aboutOrganisations}</p>
        <Field label={t.frame.name} name="name" required maxLength={60} autoFocus autoComplete="organization" />
        <Submit foot busy={busy} busyText={t.frame.creating} verb={t.frame.createOrganisation} />
      </Form>
    </Dialog>
  )
}
