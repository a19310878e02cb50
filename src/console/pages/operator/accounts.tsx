/**
 * Finding accounts.
 */
import { useLocation } from 'preact-iso'
import { t } from '../../language/language.ts'
import { searchAccounts } from '../../api/operator.ts'
import type { ListedAccount, OperatedAccount } from '../../api/operator.ts'
import { AccountLink, Amount, Empty, Time } from '../../parts/basics.tsx'
import { Choice, Field, fieldsOf } from '../../parts/forms.tsx'
import { withFields } from '../../parts/route.ts'
import { List, Pager } from '../../parts/list.tsx'
import type { Column } from '../../parts/table.tsx'
import { Table } from '../../parts/table.tsx'
import { useLoad } from '../../state/load.ts'

const words = t.accounts

const PATH = '/operator/accounts'

const SORTS = Object.entries(words.sorts)

const STANDINGS = Object.entries(words.standings)

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
          label={words.findAccount}
          name="search"
          type="search"
          defaultValue={search}
          hint={words.findHint}
          maxLength={254}
        />
        <button type="submit">{words.find}</button>
      </form>
      <div class="filters">
        <Choice label={t.frame.show} options={STANDINGS} value={standing ?? ''} onChange={chosen('standing')} />
        <Choice label={words.sortBy} options={SORTS} value={sort ?? 'newest'} onChange={chosen('sort')} />
      </div>
      <List of={accounts} empty={<Empty title={words.noMatch}>{words.shorter}</Empty>}>
        {(items) => <AccountTable accounts={items} />}
      </List>
      <Pager path={PATH} query={query} next={next} words={[words.firstPage, words.nextPage]} />
    </section>
  )
}

export const Standing = ({ account }: { account: OperatedAccount }) => (
  <>
    <span class={`status ${account.status === 'active' ? 'succeeded' : 'failed'}`}>
      {account.status === 'active' ? words.active : words.suspended}
    </span>
    {account.role === 'admin' && <small class="soft">{words.operator}</small>}
    {account.group !== null && <small class="soft"> {account.group}</small>}
    {!account.emailVerified && <small class="soft">{words.notVerified}</small>}
  </>
)

const ACCOUNT_COLUMNS: Column<ListedAccount>[] = [
  {
    header: t.words.fields.account,
    orders: [['email', 'ascending']],
    cell: (account) => <AccountLink id={account.id} email={account.email} name={account.name} />,
  },
  { header: t.frame.name, cell: ({ displayName }) => displayName },
  { header: t.words.fields.status, cell: (account) => <Standing account={account} /> },
  {
    header: t.frame.page.credits,
    right: true,
    orders: [['credits', 'descending']],
    cell: (account) => <Amount value={account.credits} />,
  },
  {
    header: words.debt,
    right: true,
    orders: [['debt', 'descending']],
    cell: ({ debt }) => (debt > 0 ? <Amount value={debt} /> : ''),
  },
  {
    header: t.words.fields.lastCall,
    orders: [['lastCall', 'descending']],
    cell: ({ id, lastCallAt }) =>
      lastCallAt ? (
        <a href={`/operator/calls?account=${id}`}>
          <Time iso={lastCallAt} />
        </a>
      ) : (
        t.words.fields.never
      ),
  },
  {
    header: t.members.joined,
    orders: [
      ['newest', 'descending'],
      ['oldest', 'ascending'],
    ],
    cell: (account) => <Time iso={account.createdAt} />,
  },
]

const AccountTable = ({ accounts }: { accounts: ListedAccount[] }) => (
  <Table label={t.frame.accounts} columns={ACCOUNT_COLUMNS} rows={accounts} keyOf={(account) => account.id} />
)
