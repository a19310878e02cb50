/**
 * Finding accounts.
 */
import { useLocation } from 'preact-iso'
import { searchAccounts } from '../../api/operator.ts'
import type { OperatedAccount } from '../../api/operator.ts'
import { Amount, Empty, Time } from '../../parts/basics.tsx'
import { Field, fieldsOf } from '../../parts/forms.tsx'
import { withFields } from '../../parts/route.ts'
import { List } from '../../parts/list.tsx'
import type { Column } from '../../parts/table.tsx'
import { Table } from '../../parts/table.tsx'
import { useLoad } from '../../state/load.ts'

export function AccountsSection({ search }: { search: string }) {
  const { route } = useLocation()
  const accounts = useLoad(`accounts ${search}`, () => searchAccounts(search))
  const submit = (event: Event): void =>
    route(withFields('/operator/accounts', {}, { search: fieldsOf(event).search?.trim() }))
  return (
    <section class="panel">
      <form class="finder" onSubmit={submit}>
        <Field
          label="Find an account"
          name="search"
          type="search"
          defaultValue={search}
          hint="Part of its e-mail address, or its id."
          maxLength={254}
        />
        <button type="submit">Find</button>
      </form>
      <List of={accounts} empty={<Empty title="No matching accounts">Search for a shorter part of the address.</Empty>}>
        {(items) => <AccountTable accounts={items} />}
      </List>
    </section>
  )
}

export const Standing = ({ account }: { account: OperatedAccount }) => (
  <>
    <span class={`status ${account.status === 'active' ? 'succeeded' : 'failed'}`}>
      {account.status === 'active' ? 'Active' : 'Suspended'}
    </span>
    {account.role === 'admin' && <small class="soft"> operator</small>}
    {!account.emailVerified && <small class="soft"> not verified</small>}
  </>
)

const ACCOUNT_COLUMNS: Column<OperatedAccount>[] = [
  { header: 'Address', cell: (account) => <a href={`/operator/accounts/${account.id}`}>{account.email}</a> },
  { header: 'Name', cell: (account) => account.displayName },
  { header: 'Status', cell: (account) => <Standing account={account} /> },
  { header: 'Credits', right: true, cell: (account) => <Amount value={account.credits} /> },
  { header: 'Since', cell: (account) => <Time iso={account.createdAt} /> },
]

const AccountTable = ({ accounts }: { accounts: OperatedAccount[] }) => (
  <Table label="Accounts" columns={ACCOUNT_COLUMNS} rows={accounts} keyOf={(account) => account.id} />
)
