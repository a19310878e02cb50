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

function AccountTable({ accounts }: { accounts: OperatedAccount[] }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Accounts">
      <table>
        <thead>
          <tr>
            <th scope="col">Address</th>
            <th scope="col">Name</th>
            <th scope="col">Status</th>
            <th scope="col" class="right">
              Credits
            </th>
            <th scope="col">Since</th>
          </tr>
        </thead>
        <tbody>
          {accounts.map((account) => (
            <tr key={account.id}>
              <td>
                <a href={`/operator/accounts/${account.id}`}>{account.email}</a>
              </td>
              <td>{account.displayName}</td>
              <td>
                <Standing account={account} />
              </td>
              <td class="right">
                <Amount value={account.credits} />
              </td>
              <td>
                <Time iso={account.createdAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
