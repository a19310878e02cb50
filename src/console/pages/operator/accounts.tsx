/**
 * Finding accounts.
 */
import { useLocation } from 'preact-iso'
import { searchAccounts } from '../../api/operator.ts'
import type { ListedAccount, OperatedAccount } from '../../api/operator.ts'
import { AccountLink, Amount, Empty, Time } from '../../parts/basics.tsx'
import { Choice, Field, fieldsOf } from '../../parts/forms.tsx'
import { withFields } from '../../parts/route.ts'
import { List, Pager } from '../../parts/list.tsx'
import type { Column } from '../../parts/table.tsx'
import { Table } from '../../parts/table.tsx'
import { useLoad } from '../../state/load.ts'

const PATH = '/operator/accounts'

const SORTS = [
  ['newest', 'Newest first'],
  ['oldest', 'Oldest first'],
  ['lastCall', 'Last call'],
  ['credits', 'Balance'],
  ['debt', 'Debt'],
  ['email', 'Address'],
] as const

const STANDINGS = [
  ['', 'All accounts'],
  ['debt', 'In debt'],
  ['suspended', 'Suspended'],
  ['unverified', 'Not verified'],
] as const

export function AccountsSection({ query }: { query: Record<string, string> }) {
  const { route } = useLocation()
  const { search, sort, standing, cursor } = query
  const asked = { search, sort, standing, cursor }
  const accounts = useLoad(`accounts ${JSON.stringify(asked)}`, () => searchAccounts(asked))
  const set = (changes: Record<string, string | undefined>): void =>
    route(withFields(PATH, query, { ...changes, cursor: undefined }))
  const chosen = (name: string) => (event: Event) => set({ [name]: (event.currentTarget as HTMLSelectElement).value })
  const next = accounts.data?.nextCursor
  return (
    <section class="panel">
      <form class="finder" onSubmit={(event) => set({ search: fieldsOf(event)['search']?.trim() })}>
        <Field
          key={search}
          label="Find an account"
          name="search"
          type="search"
          defaultValue={search}
          hint="Part of its e-mail address, of an organisation’s name, or its ID."
          maxLength={254}
        />
        <button type="submit">Find</button>
      </form>
      <div class="filters">
        <Choice label="Show" options={STANDINGS} value={standing ?? ''} onChange={chosen('standing')} />
        <Choice label="Sort by" options={SORTS} value={sort ?? 'newest'} onChange={chosen('sort')} />
      </div>
      <List of={accounts} empty={<Empty title="No matching accounts">Search for a shorter part of the address.</Empty>}>
        {(items) => <AccountTable accounts={items} />}
      </List>
      <Pager path={PATH} query={query} next={next} words={['← First page', 'Next page →']} />
    </section>
  )
}

export const Standing = ({ account }: { account: OperatedAccount }) => (
  <>
    <span class={`status ${account.status === 'active' ? 'succeeded' : 'failed'}`}>
      {account.status === 'active' ? 'Active' : 'Suspended'}
    </span>
    {account.role === 'admin' && <small class="soft"> operator</small>}
    {account.group !== null && <small class="soft"> {account.group}</small>}
    {!account.emailVerified && <small class="soft"> not verified</small>}
  </>
)

const ACCOUNT_COLUMNS: Column<ListedAccount>[] = [
  {
    header: 'Account',
    orders: [['email', 'ascending']],
    cell: (account) => <AccountLink id={account.id} email={account.email} name={account.name} />,
  },
  { header: 'Name', cell: ({ displayName }) => displayName },
  { header: 'Status', cell: (account) => <Standing account={account} /> },
  {
    header: 'Credits',
    right: true,
    orders: [['credits', 'descending']],
    cell: (account) => <Amount value={account.credits} />,
  },
  {
    header: 'Debt',
    right: true,
    orders: [['debt', 'descending']],
    cell: ({ debt }) => (debt > 0 ? <Amount value={debt} /> : ''),
  },
  {
    header: 'Last call',
    orders: [['lastCall', 'descending']],
    cell: ({ id, lastCallAt }) =>
      lastCallAt ? (
        <a href={`/operator/calls?account=${id}`}>
          <Time iso={lastCallAt} />
        </a>
      ) : (
        'never'
      ),
  },
  {
    header: 'Joined',
    orders: [
      ['newest', 'descending'],
      ['oldest', 'ascending'],
    ],
    cell: (account) => <Time iso={account.createdAt} />,
  },
]

const AccountTable = ({ accounts }: { accounts: ListedAccount[] }) => (
  <Table label="Accounts" columns={ACCOUNT_COLUMNS} rows={accounts} keyOf={(account) => account.id} />
)
