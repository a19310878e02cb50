/**
 * The invitations of an organisation, for its owner and admins.
 */
import { useState } from 'preact/hooks'
import { t } from '../../language/language.ts'
import type { Invitation } from '../../api/organisations.ts'
import { getInvitations, invite, revokeInvitation } from '../../api/organisations.ts'
import { Email, Empty, Time } from '../../parts/basics.tsx'
import { BudgetFields, budgetOf, budgetText } from '../../parts/budget.tsx'
import { Confirm, Dialog } from '../../parts/dialogs.tsx'
import { Field, Form, Submit, useSubmit } from '../../parts/forms.tsx'
import { List } from '../../parts/list.tsx'
import type { Column } from '../../parts/table.tsx'
import { Table } from '../../parts/table.tsx'
import { account } from '../../state/account.ts'
import { useLoad } from '../../state/load.ts'
import { Unverified } from '../overview-notices.tsx'
import { RoleChoice } from './change.tsx'

const words = t.members

export function Invitations() {
  const invitations = useLoad('invitations', getInvitations)
  const [inviting, setInviting] = useState(false)
  const [revoking, setRevoking] = useState<Invitation | null>(null)
  // A second invitation of an address takes the place of the first.
  const put = (made: Invitation): void =>
    invitations.change(({ data }) => ({ data: [made, ...data.filter(({ email }) => email !== made.email)] }))
  const drop = ({ id }: Invitation): void =>
    invitations.change(({ data }) => ({ data: data.filter((one) => one.id !== id) }))
  return (
    <section class="panel">
      <div class="row between">
        <h2>{words.invitations}</h2>
        {account.value?.user.emailVerified && (
          <button type="button" class="small" onClick={() => setInviting(true)}>
            {words.invite}
          </button>
        )}
      </div>
      <Unverified why={words.mustVerify} />
      <List of={invitations} rows={2} empty={<Empty title={words.nobody}>{words.byEmail}</Empty>}>
        {(items) => (
          <Table
            label={words.invitations}
            columns={[...COLUMNS, revocation(setRevoking)]}
            rows={items}
            keyOf={({ id }) => id}
          />
        )}
      </List>
      {inviting && <Invite close={() => setInviting(false)} made={put} />}
      {revoking && (
        <Confirm
          title={words.revokeTitle}
          verb={words.revokeInvitation}
          busyText={t.keys.revoking}
          danger
          close={() => setRevoking(null)}
          work={async () => {
            await revokeInvitation(revoking.id)
            drop(revoking)
          }}
        >
          {words.revocation(revoking.email)}
        </Confirm>
      )}
    </section>
  )
}

const COLUMNS: Column<Invitation>[] = [
  { header: words.address, cell: ({ email }) => <Email address={email} /> },
  { header: words.role, cell: ({ role }) => t.frame.roles[role] },
  {
    header: t.keys.columns.budget,
    cell: ({ budget }) => (budget ? budgetText(budget) : <span class="soft">{t.words.fields.none}</span>),
  },
  { header: words.invitedBy, cell: ({ invitedBy }) => <Email address={invitedBy} /> },
  { header: t.words.fields.expires, cell: ({ expiresAt }) => <Time iso={expiresAt} /> },
]

const revocation = (revoke: (invitation: Invitation) => void): Column<Invitation> => ({
  header: t.keys.revoke,
  hidden: true,
  right: true,
  cell: (invitation) => (
    <button
      type="button"
      class="small danger"
      aria-label={words.revokeOne(invitation.email)}
      onClick={() => revoke(invitation)}
    >
      {t.keys.revoke}
    </button>
  ),
})

function Invite({ close, made }: { close: () => void; made: (invitation: Invitation) => void }) {
  const { busy, problem, submits } = useSubmit()
  const submit = submits(async ({ email = '', role = 'member', ...texts }) => {
    made((await invite({ email, role: role as Invitation['role'], ...budgetOf(texts, null) })).invitation)
    close()
  })
  return (
    <Dialog title={words.invite} close={close}>
      <Form problem={problem} onSubmit={submit} about={{ invalid_email: 'email', already_member: 'email' }}>
        <Field
          label={t.entrance.email}
          name="email"
          type="email"
          required
          autoFocus
          autoComplete="off"
          hint={words.inviteHint}
        />
        <RoleChoice role="member" />
        <BudgetFields budget={null} hint={words.budgetHint} />
        <Submit foot busy={busy} busyText={words.inviting} verb={words.send} />
      </Form>
    </Dialog>
  )
}
