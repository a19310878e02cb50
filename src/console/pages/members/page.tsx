/**
 * The members of an organisation: who may act for it, what they may do and spend, and whom it has invited.
 */
import { useState } from 'preact/hooks'
import type { Member } from '../../api/organisations.ts'
import { getMembers } from '../../api/organisations.ts'
import { Email, Empty, Loading, Page, Time } from '../../parts/basics.tsx'
import { BudgetMeter } from '../../parts/budget.tsx'
import { number } from '../../parts/format.ts'
import { List } from '../../parts/list.tsx'
import { NewOrganisation } from '../../parts/new-organisation.tsx'
import type { Column } from '../../parts/table.tsx'
import { Table } from '../../parts/table.tsx'
import { account } from '../../state/account.ts'
import { useLoad } from '../../state/load.ts'
import { ChangeMember, HandOver, RemoveMember } from './change.tsx'
import { DeleteOrganisation, Leave } from './end.tsx'
import { Invitations } from './invitations.tsx'

export function MembersPage() {
  const now = account.value
  if (!now) return <Loading rows={8} />
  return now.organisation ? <Members organisation={now.organisation} email={now.user.email} /> : <NoMembers />
}

/** One's own account has nobody else. */
function NoMembers() {
  const [founding, setFounding] = useState(false)
  return (
    <Page title="Members">
      <section class="panel">
        <Empty title="Your personal account is yours alone">
          Several people can use an organisation, which has credits of its own.
        </Empty>
        <button type="button" onClick={() => setFounding(true)}>
          New organisation
        </button>
      </section>
      {founding && <NewOrganisation close={() => setFounding(false)} />}
    </Page>
  )
}

type Props = { organisation: { id: string; name: string; role: Member['role'] }; email: string }

/** What is being done, and to whom. */
type Doing = { what: 'change' | 'remove' | 'hand over'; member: Member } | null

function Members({ organisation: { id, name, role }, email }: Props) {
  const members = useLoad(role === 'member' ? 'membership' : 'members', getMembers)
  const [doing, setDoing] = useState<Doing>(null)
  const manages = role !== 'member'
  const close = (): void => setDoing(null)
  return (
    <Page title="Members">
      <p class="soft">
        {manages ? 'Who can use' : 'Your membership of'} <strong class="name">{name}</strong>. Calls are paid for with
        its credits.
      </p>
      <section class="panel">
        <h2>{manages ? 'Members' : 'You'}</h2>
        <List of={members} rows={3} empty={null}>
          {(items) => (
            <Table
              label="Members"
              columns={[...COLUMNS, ...(manages ? [actionsOf({ role, email, act: setDoing })] : [])]}
              rows={items}
              keyOf={(member) => member.id}
              textOf={({ email, displayName, role }) => `${email} ${displayName} ${role}`}
            />
          )}
        </List>
      </section>
      {manages && <Invitations />}
      {role === 'owner' ? <DeleteOrganisation id={id} name={name} /> : <Leave name={name} />}
      {doing?.what === 'change' && (
        <ChangeMember
          member={doing.member}
          close={close}
          changed={(member) =>
            members.change(({ data }) => ({ data: data.map((one) => (one.id === member.id ? member : one)) }))
          }
        />
      )}
      {doing?.what === 'remove' && (
        <RemoveMember
          member={doing.member}
          close={close}
          removed={() => members.change(({ data }) => ({ data: data.filter((one) => one.id !== doing.member.id) }))}
        />
      )}
      {doing?.what === 'hand over' && (
        <HandOver member={doing.member} organisation={name} close={close} done={members.reload} />
      )}
    </Page>
  )
}

const COLUMNS: Column<Member>[] = [
  {
    header: 'Member',
    sortBy: ({ displayName, email }) => displayName || email,
    cell: ({ email, displayName }) => (
      <span>
        {displayName !== '' && (
          <>
            {displayName}
            <br />
          </>
        )}
        <span class={displayName === '' ? undefined : 'soft'}>
          <Email address={email} />
        </span>
      </span>
    ),
  },
  { header: 'Role', sortBy: ({ role }) => role, cell: ({ role }) => role },
  { header: 'Budget', sortBy: ({ budget }) => budget?.remaining, cell: (member) => <BudgetOf member={member} /> },
  { header: 'Joined', sortBy: ({ joinedAt }) => joinedAt, cell: ({ joinedAt }) => <Time iso={joinedAt} /> },
]

/** What is used of a member's budget, what is left, and until when. */
const BudgetOf = ({ member: { budget } }: { member: Member }) => (
  <span>
    <BudgetMeter budget={budget} />
    {budget && budget.remaining > 0 && (
      <small class="soft">
        {' '}
        {number(budget.remaining)} left
        {budget.resetsAt && (
          <>
            {' '}
            until <Time iso={budget.resetsAt} />
          </>
        )}
      </small>
    )}
  </span>
)

type ActionsProps = { role: Member['role']; email: string; act: (doing: Doing) => void }

/** What owner and admins can do to others. The owner's place is given away by themselves alone. */
const actionsOf = ({ role, email, act }: ActionsProps): Column<Member> => ({
  header: 'Actions',
  hidden: true,
  right: true,
  cell: (member) => {
    if (member.role === 'owner') return ''
    const button = (word: string, what: NonNullable<Doing>['what'], style: string, name: string) => (
      <button type="button" class={`small ${style}`} aria-label={name} onClick={() => act({ what, member })}>
        {word}
      </button>
    )
    return (
      <span class="row">
        {button('Change', 'change', 'quiet', `Change ${member.email}`)}
        {role === 'owner' && button('Make owner', 'hand over', 'quiet', `Make owner: ${member.email}`)}
        {member.email !== email && button('Remove', 'remove', 'danger', `Remove ${member.email}`)}
      </span>
    )
  },
})
