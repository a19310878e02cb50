/**
 * What is done to a member: another role or budget, the end of the membership, or the owner's place.
 */
import { useState } from 'preact/hooks'
import { t } from '../../language/language.ts'
import type { Member, NewInvitation } from '../../api/organisations.ts'
import { changeMember, makeOwner, removeMember } from '../../api/organisations.ts'

import { BudgetFields, budgetOf } from '../../parts/budget.tsx'
import { Confirm, Dialog } from '../../parts/dialogs.tsx'
import { Choice, Form, Submit, Username, useSubmit } from '../../parts/forms.tsx'
import { OwnPassword } from '../../parts/own-password.tsx'
import { account, loadAccount } from '../../state/account.ts'

const words = t.members

type Role = NewInvitation['role']

/** The roles that can be given, with what they may. */
const ROLES: readonly (readonly [Role, string])[] = [
  ['member', words.roles.member],
  ['admin', words.roles.admin],
]

type ChangeProps = { member: Member; close: () => void; changed: (member: Member) => void }

export function ChangeMember({ member, close, changed }: ChangeProps) {
  const { busy, problem, submits } = useSubmit()
  const submit = submits(async ({ role, ...texts }) => {
    const changes = {
      ...(role !== member.role && { role: role as Role }),
      ...budgetOf(texts, member.budget),
    }
    changed((await changeMember(member.id, changes)).member)
    // It may be one's own role.
    await loadAccount()
    close()
  })
  return (
    <Dialog title={words.changeOne(member.displayName || member.email)} close={close}>
      <Form problem={problem} onSubmit={submit}>
        <RoleChoice role={member.role === 'admin' ? 'admin' : 'member'} />
        <BudgetFields budget={member.budget} hint={words.budgetHint} />
        <Submit foot busy={busy} busyText={t.settings.saving} verb={words.saveMember} />
      </Form>
    </Dialog>
  )
}

/** Chooses a role that can be given. */
export function RoleChoice({ role }: { role: Role }) {
  const [chosen, setChosen] = useState<string>(role)
  return (
    <Choice
      label={words.role}
      name="role"
      options={ROLES}
      value={chosen}
      onChange={(event) => setChosen(event.currentTarget.value)}
    />
  )
}

type RemoveProps = { member: Member; close: () => void; removed: () => void }

export const RemoveMember = ({ member, close, removed }: RemoveProps) => (
  <Confirm
    title={words.removeTitle(member.displayName || member.email)}
    verb={words.removeMember}
    busyText={t.settings.removing}
    danger
    close={close}
    work={async () => {
      await removeMember(member.id)
      removed()
    }}
  >
    {words.removal}
  </Confirm>
)

type HandOverProps = { member: Member; organisation: string; close: () => void; done: () => void }

/** Makes another member the owner. */
export function HandOver({ member, organisation, close, done }: HandOverProps) {
  const { busy, problem, submits } = useSubmit()
  const submit = submits(async ({ password = '' }) => {
    await makeOwner(member.id, password)
    await loadAccount()
    done()
    close()
  })
  return (
    <Dialog title={words.ownerTitle(member.displayName || member.email)} close={close}>
      <Form problem={problem} onSubmit={submit} about={{ wrong_password: 'password' }}>
        <p>{words.handOverHint(organisation)}</p>
        <Username of={account.value?.user.email} />
        <OwnPassword />
        <Submit class="danger" busy={busy} busyText={words.handingOver} verb={words.handOver} cancel={close} />
      </Form>
    </Dialog>
  )
}
