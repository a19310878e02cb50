/**
 * The members of an organisation: who may act for it, what they may do and spend, and whom it has invited.
 */
import { useState } from 'preact/hooks'
import { t } from '../../language/language.ts'
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

const words = t.members

export function MembersPage() {
  const now = account.value
  if (!now) return <Loading rows={8} />
  return now.organisation ? <Members organisation={now.organisation} email={now.user.email} /> : <NoMembers />
}

/** One's own account has nobody else. */
function NoMembers() {
  const [founding, setFounding] = useState(false)
  return (
    <Page title={t.frame.page.members}>
      <section class="panel">
        <Empty title={words.personal}>{words.aboutShared}</Empty>
        <button type="button" onClick={() => setFounding(true)}>
          {t.frame.newOrganisation}
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
    <Page title={t.frame.page.members}>
      <p class="soft">{words.about(manages, <strong class="name">{name}</strong>)}</p>
      <section class="panel">
        <h2>{manages ? t.frame.page.members : t.words.fields.you}</h2>
        <List of={members} rows={3} empty={null}>
          {(items) => (
            <Table
              label={t.frame.page.members}
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
    header: t.keys.columns.member,
    sortBy: ['name', ({ displayName, email }) => displayName || email],
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
  { header: words.role, sortBy: 'role', cell: ({ role }) => t.frame.roles[role] },
  {
    header: t.keys.columns.budget,
    sortBy: ['budget', ({ budget }) => budget?.remaining],
    cell: (member) => <BudgetOf member={member} />,
  },
  { header: words.joined, sortBy: 'joinedAt', cell: ({ joinedAt }) => <Time iso={joinedAt} /> },
]

/** What is used of a member's budget, what is left, and until when. */
const BudgetOf = ({ member: { budget } }: { member: Member }) => (
  <span>
    <BudgetMeter budget={budget} />
    {budget && budget.remaining > 0 && (
      <small class="soft">
        {words.budgetLeft(number(budget.remaining))}
        {budget.resetsAt && words.until(<Time iso={budget.resetsAt} />)}
      </small>
    )}
  </span>
)

type ActionsProps = { role: Member['role']; email: string; act: (doing: Doing) => void }

/** What owner and admins can do to others. The owner's place is given away by themselves alone. */
const actionsOf = ({ role, email, act }: ActionsProps): Column<Member> => ({
  header: words.actions,
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
        {button(words.change, 'change', 'quiet', words.changeOne(member.email))}
        {role === 'owner' && button(words.makeOwner, 'hand over', 'quiet', words.makeOwnerOne(member.email))}
        {member.email !== email && button(t.words.fields.remove, 'remove', 'danger', words.removeOne(member.email))}
      </span>
    )
  },
})
