/**
 * What accounts owe, and letting it go.
 */
import { useState } from 'preact/hooks'
import type { Debtor } from '../../api/operator-billing.ts'
import { forgiveDebt, getDebts } from '../../api/operator-billing.ts'
import { Action, Amount, Empty, ErrorMessage } from '../../parts/basics.tsx'
import { Dialog } from '../../parts/dialogs.tsx'
import { credits } from '../../parts/format.ts'
import { useSubmit } from '../../parts/forms.tsx'
import { List } from '../../parts/list.tsx'
import type { Column } from '../../parts/table.tsx'
import { Table } from '../../parts/table.tsx'
import { useLoad } from '../../state/load.ts'

export function DebtsSection() {
  const debts = useLoad('debts', getDebts)
  const [asked, setAsked] = useState<Debtor | null>(null)
  const columns: Column<Debtor>[] = [
    {
      header: 'Account',
      cell: ({ accountId, email }) => <a href={`/operator/accounts/${accountId}`}>{email}</a>,
    },
    { header: 'Debt', right: true, cell: ({ debt }) => <Amount value={debt} /> },
    {
      header: 'Forgive',
      hidden: true,
      right: true,
      cell: (one) => (
        <button type="button" class="small" aria-label={`Forgive ${one.email}`} onClick={() => setAsked(one)}>
          Forgive
        </button>
      ),
    },
  ]
  return (
    <section class="panel">
      <h2>Debts</h2>
      <List of={debts} empty={<Empty title="Nobody owes anything" />}>
        {(items) => <Table label="Debts" columns={columns} rows={items} keyOf={({ accountId }) => accountId} />}
      </List>
      {asked && <Forgive debt={asked} close={() => setAsked(null)} done={debts.reload} />}
    </section>
  )
}

function Forgive({ debt, close, done }: { debt: Debtor; close: () => void; done: () => void }) {
  const { busy, problem, run } = useSubmit()
  const forgive = (): void =>
    run(async () => {
      await forgiveDebt(debt.accountId)
      close()
      done()
    })
  return (
    <Dialog title={`Forgive ${debt.email}?`} close={close}>
      <p>{credits(debt.debt)} will not be collected from the credits that it receives. Its calls are taken again.</p>
      <ErrorMessage problem={problem} />
      <div class="row">
        <Action busy={busy} busyText="Forgiving…" onClick={forgive}>
          Forgive the debt
        </Action>
        <button type="button" class="quiet" onClick={close}>
          Cancel
        </button>
      </div>
    </Dialog>
  )
}
