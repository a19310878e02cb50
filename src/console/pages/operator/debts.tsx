/**
 * What accounts owe, and letting it go.
 */
import { useState } from 'preact/hooks'
import { t } from '../../language/language.ts'
import type { Debtor } from '../../api/operator-billing.ts'
import { forgiveDebt, getDebts } from '../../api/operator-billing.ts'
import { AccountLink, Amount, Empty } from '../../parts/basics.tsx'
import { Confirm } from '../../parts/dialogs.tsx'
import { credits } from '../../parts/format.ts'
import { List } from '../../parts/list.tsx'
import type { Column } from '../../parts/table.tsx'
import { Table } from '../../parts/table.tsx'
import { useLoad } from '../../state/load.ts'

const words = t.accounts

export function DebtsSection() {
  const debts = useLoad('debts', getDebts)
  const [asked, setAsked] = useState<Debtor | null>(null)
  const columns: Column<Debtor>[] = [
    {
      header: t.words.fields.account,
      sortBy: ['name', ({ name, email }) => name || email],
      cell: ({ accountId, email, name }) => <AccountLink id={accountId} email={email} name={name} />,
    },
    { header: words.debt, right: true, sortBy: 'debt', cell: ({ debt }) => <Amount value={debt} /> },
    {
      header: words.forgive,
      hidden: true,
      right: true,
      cell: (one) => (
        <button
          type="button"
          class="small"
          aria-label={words.forgiveOne(one.name || one.email)}
          onClick={() => setAsked(one)}
        >
          {words.forgive}
        </button>
      ),
    },
  ]
  return (
    <section class="panel">
      <List of={debts} empty={<Empty title={words.nobodyOwes} />}>
        {(items) => (
          <Table
            label={words.debts}
            columns={columns}
            rows={items}
            keyOf={({ accountId }) => accountId}
            textOf={({ name, email }) => `${name} ${email}`}
          />
        )}
      </List>
      {asked && <Forgive debt={asked} close={() => setAsked(null)} done={debts.reload} />}
    </section>
  )
}

const Forgive = ({ debt, close, done }: { debt: Debtor; close: () => void; done: () => void }) => (
  <Confirm
    title={words.forgiveTitle(debt.name || debt.email)}
    verb={words.forgiveDebt}
    busyText={words.forgiving}
    close={close}
    work={async () => {
      await forgiveDebt(debt.accountId)
      done()
    }}
  >
    {words.forgiveness(credits(debt.debt))}
  </Confirm>
)
