/**
 * The invitations of an organisation, for its owner and admins.
 */
import { useState } from 'preact/hooks'
import type { Invitation } from '../../api/organisations.ts'
import { getInvitations, invite, revokeInvitation } from '../../api/organisations.ts'
import { Email, Empty, Time } from '../../parts/basics.tsx'
import { BudgetFields, budgetOf, budgetText } from '../../parts/budget.tsx'
import { Confirm, Dialog } from '../../parts/dialogs.tsx'
import { Field, Form, Submit, useSubmit } from '../../parts/forms.tsx'
import { List } from '../../parts/list.tsx'
import type { Column } from '../../parts/table.tsx'
import { Table } from '../../parts/table.tsx'
import { useLoad } from '../../state/load.ts'
import { BUDGET_HINT, RoleChoice } from './change.tsx'

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
        <h2>Invitations</h2>
        <button type="button" class="small" onClick={() => setInviting(true)}>
          Invite somebody
        </button>
      </div>
      <List of={invitations} rows={2} empty={<Empty title="Nobody is invited">Invite somebody by e-mail.</Empty>}>
        {(items) => (
          <Table
            label="Invitations"
            columns={[...COLUMNS, revocation(setRevoking)]}
            rows={items}
            keyOf={({ id }) => id}
          />
        )}
      </List>
      {inviting && <Invite close={() => setInviting(false)} made={put} />}
      {revoking && (
        <Confirm
          title="Revoke this invitation?"
          verb="Revoke invitation"
          busyText="Revoking…"
          danger
          close={() => setRevoking(null)}
          work={async () => {
            await revokeInvitation(revoking.id)
            drop(revoking)
          }}
        >
          The link that {revoking.email} was sent stops working.
        </Confirm>
      )}
    </section>
  )
}

const COLUMNS: Column<Invitation>[] = [
  { header: 'Address', cell: ({ email }) => <Email address={email} /> },
  { header: 'Role', cell: ({ role }) => role },
  { header: 'Budget', cell: ({ budget }) => (budget ? budgetText(budget) : <span class="soft">none</span>) },
  { header: 'Invited by', cell: ({ invitedBy }) => <Email address={invitedBy} /> },
  { header: 'Expires', cell: ({ expiresAt }) => <Time iso={expiresAt} /> },
]

const revocation = (revoke: (invitation: Invitation) => void): Column<Invitation> => ({
  header: 'Revoke',
  hidden: true,
  right: true,
  cell: (invitation) => (
    <button
      type="button"
      class="small danger"
      aria-label={`Revoke the invitation of ${invitation.email}`}
      onClick={() => revoke(invitation)}
    >
      Revoke
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
    <Dialog title="Invite somebody" close={close}>
      <Form problem={problem} onSubmit={submit} about={{ invalid_email: 'email', already_member: 'email' }}>
        <Field
          label="E-mail address"
          name="email"
          type="email"
          required
          autoFocus
          autoComplete="off"
          hint="They get a link that works once, within 7 days, and for this address alone."
        />
        <RoleChoice role="member" />
        <BudgetFields budget={null} hint={BUDGET_HINT} />
        <Submit foot busy={busy} busyText="Inviting…" verb="Send invitation" />
      </Form>
    </Dialog>
  )
}
