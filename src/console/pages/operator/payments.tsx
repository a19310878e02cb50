/**
 * Finding payments.
 */
import { useLocation } from 'preact-iso'
import { t } from '../../language/language.ts'
import type { OperatedPayment } from '../../api/operator-billing.ts'
import { searchPayments } from '../../api/operator-billing.ts'
import { AccountLink, Empty, Time } from '../../parts/basics.tsx'
import { number, shortId } from '../../parts/format.ts'
import { Choice, Field, fieldsOf } from '../../parts/forms.tsx'
import { List, Pager } from '../../parts/list.tsx'
import { creditsOf, money } from '../../parts/money.ts'
import { withFields } from '../../parts/route.ts'
import type { Column } from '../../parts/table.tsx'
import { BY_TIME, Table } from '../../parts/table.tsx'
import { useLoad } from '../../state/load.ts'
import { PaymentStatus, STATUSES } from '../credits/payments.tsx'

const words = t.records

const PATH = '/operator/payments'

const CHOICES = [
  ['', words.any],
  ...Object.entries(STATUSES).map(([status, [word]]) => [status, word] as const),
] as const

const columnsOf = (orders: Column<OperatedPayment>['orders']): Column<OperatedPayment>[] => [
  { header: words.payment, cell: ({ id }) => <a href={`${PATH}/${id}`}>{shortId(id)}</a> },
  { header: t.words.fields.time, ...(orders && { orders }), cell: ({ createdAt }) => <Time iso={createdAt} /> },
  {
    header: t.words.fields.account,
    cell: (one) => <AccountLink id={one.accountId} email={one.accountEmail} name={one.accountName} />,
  },
  { header: t.words.fields.amount, right: true, class: 'digits', cell: (one) => money(one.amountMinor, one.currency) },
  { header: t.frame.page.credits, right: true, class: 'digits', cell: (one) => number(creditsOf(one)) },
  {
    header: t.credits.columns.how,
    cell: ({ kind }) => (kind === 'auto' ? t.credits.payments.automatic : t.credits.payments.checkout),
  },
  { header: t.words.fields.status, cell: (one) => <PaymentStatus payment={one} /> },
]

/** @param orders those of a list in pages */
export const PaymentTable = ({
  payments,
  orders,
}: { payments: OperatedPayment[] } & Pick<Column<OperatedPayment>, 'orders'>) => (
  <Table label={t.credits.payments.title} columns={columnsOf(orders)} rows={payments} keyOf={({ id }) => id} />
)

export function PaymentsSection({ query }: { query: Record<string, string> }) {
  const { route } = useLocation()
  const { search, status, sort, cursor } = query
  const payments = useLoad(`payments of all ${search} ${status} ${sort} ${cursor}`, () =>
    searchPayments({ search, status, sort, cursor }),
  )
  const submit = (event: Event): void => {
    const fields = fieldsOf(event)
    route(withFields(PATH, {}, { search: fields['search']?.trim(), status: fields['status'] }))
  }
  const next = payments.data?.nextCursor
  return (
    <section class="panel">
      <form class="finder" onSubmit={submit}>
        <Field
          label={words.findPayment}
          name="search"
          type="search"
          defaultValue={search}
          hint={words.findHint}
          maxLength={254}
        />
        <Choice label={t.words.fields.status} name="status" options={CHOICES} defaultValue={status ?? ''} />
        <button type="submit">{t.accounts.find}</button>
      </form>
      <List of={payments} empty={<Empty title={words.noPayments} />}>
        {(items) => <PaymentTable payments={items} orders={BY_TIME} />}
      </List>
      <Pager path={PATH} query={query} next={next} />
    </section>
  )
}
