/**
 * The group of the catalogue that an account is in, and another one for it.
 */
import { useState } from 'preact/hooks'
import { t } from '../../language/language.ts'
import type { OperatedAccount } from '../../api/operator.ts'
import { setAccountGroup } from '../../api/operator.ts'

import { Dialog } from '../../parts/dialogs.tsx'
import { Choice, Form, Submit, useSubmit } from '../../parts/forms.tsx'
import { isOwnAccount } from '../../state/account.ts'

const words = t.accounts

type Props = { account: OperatedAccount; groups: readonly string[]; changed: () => void }

/** Nothing where the catalogue has no groups. One's own account needs another operator. */
export function GroupOf({ account, groups, changed }: Props) {
  const [asking, setAsking] = useState(false)
  if (groups.length === 0 && account.group === null) return null
  return (
    <div>
      <dt>{t.words.fields.group}</dt>
      <dd data-testid="account-group">
        {account.group ?? t.words.fields.none}{' '}
        {!isOwnAccount(account.id) && (
          <button type="button" class="small quiet" onClick={() => setAsking(true)}>
            {words.changeGroup}
          </button>
        )}
      </dd>
      {asking && <Regroup account={account} groups={groups} changed={changed} close={() => setAsking(false)} />}
    </div>
  )
}

function Regroup({ account, groups, changed, close }: Props & { close: () => void }) {
  const { busy, problem, submits } = useSubmit()
  const submit = submits(async ({ group = '' }) => {
    await setAccountGroup(account.id, group || null)
    close()
    changed()
  })
  const options = [['', t.words.fields.none] as const, ...groups.map((name) => [name, name] as const)]
  return (
    <Dialog title={words.groupOf(account.name || account.email)} close={close}>
      <p>{words.aboutGroup}</p>
      <Form problem={problem} onSubmit={submit}>
        <Choice label={t.words.fields.group} name="group" options={options} value={account.group ?? ''} />
        <Submit busy={busy} busyText={t.settings.saving} verb={t.settings.save} />
      </Form>
    </Dialog>
  )
}
