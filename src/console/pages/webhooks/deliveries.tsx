/**
 * What a webhook was sent, and what was answered.
 */
import { useEffect, useState } from 'preact/hooks'
import { t } from '../../language/language.ts'
import type { Page } from '../../api/endpoints.ts'
import type { Delivery, Webhook } from '../../api/webhooks.ts'
import { Action, Empty, ErrorMessage, Time } from '../../parts/basics.tsx'
import { number } from '../../parts/format.ts'
import { useSubmit } from '../../parts/forms.tsx'
import { List, Pager } from '../../parts/list.tsx'
import type { Column } from '../../parts/table.tsx'
import { Table } from '../../parts/table.tsx'
import type { Loaded } from '../../state/load.ts'
import { useLoad } from '../../state/load.ts'
import type { GetDelivery } from './delivery.tsx'
import { OneDelivery } from './delivery.tsx'
import { DeliveryState, answerText, lastTryOf } from './state.tsx'

const words = t.webhooks

/** How often the list is asked for while an event is on its way, in ms. */
const LOOK_MS = 2000

/** A try that is further away than this is not waited for. */
const SOON_MS = 10_000

const isOnItsWay = ({ status, nextTryAt }: Delivery): boolean =>
  status === 'sending' || (nextTryAt !== null && Date.parse(nextTryAt) < Date.now() + SOON_MS)

/** Asks for a page of the deliveries of a webhook. */
type Get = (id: string, cursor?: string) => Promise<Page<Delivery>>

/** A page of the deliveries of a webhook, which follows those that are on their way. */
export function useDeliveries(get: Get, id: string, cursor: string | undefined): Loaded<Page<Delivery>> {
  const deliveries = useLoad(`deliveries ${id} ${cursor ?? ''}`, () => get(id, cursor))
  const { data, reload } = deliveries
  useEffect(() => {
    if (!data?.data.some(isOnItsWay)) return undefined
    const timer = setTimeout(reload, LOOK_MS)
    return () => clearTimeout(timer)
  }, [data, reload])
  return deliveries
}

/** @param open shows a delivery */
const columnsOf = (open: (delivery: Delivery) => void): Column<Delivery>[] => [
  { header: t.words.fields.time, cell: ({ createdAt }) => <Time iso={createdAt} /> },
  {
    header: words.event,
    cell: (delivery) => (
      <button type="button" class="link" title={delivery.event} onClick={() => open(delivery)}>
        {delivery.type}
      </button>
    ),
  },
  { header: t.words.fields.status, cell: (delivery) => <DeliveryState delivery={delivery} /> },
  { header: t.words.fields.tries, right: true, class: 'digits', cell: ({ tries }) => number(tries) },
  { header: t.words.fields.answer, cell: (delivery) => answerText(lastTryOf(delivery)) },
]

/** `path`: the page of the webhook. */
type Props = {
  webhook: Webhook | undefined
  of: Loaded<Page<Delivery>>
  cursor: string | undefined
  path: string
  redeliver: (id: string, delivery: string) => Promise<unknown>
  get: GetDelivery
}

export function Deliveries({ webhook, of, cursor, path, redeliver, get }: Props) {
  const { busy, problem, run } = useSubmit()
  const [shown, setShown] = useState<Delivery | null>(null)
  const columns = columnsOf(setShown)
  const again = (delivery: Delivery): void =>
    run(async () => {
      await redeliver(webhook!.id, delivery.id)
      of.reload()
    })
  const doing: Column<Delivery> = {
    header: words.again,
    hidden: true,
    right: true,
    cell: (delivery) =>
      delivery.status !== 'sending' &&
      delivery.status !== 'held' && (
        <Action
          class="small quiet"
          busy={busy}
          aria-label={words.againOne(delivery.type)}
          onClick={() => again(delivery)}
        >
          {words.again}
        </Action>
      ),
  }
  return (
    <section class="panel">
      <h2>{words.deliveries}</h2>
      <p class="soft">{words.aboutDeliveries}</p>
      <ErrorMessage problem={problem} />
      <List of={of} empty={<Empty title={words.noDeliveries}>{words.sendTest}</Empty>}>
        {(items) => (
          <Table
            label={words.deliveries}
            broad
            columns={webhook?.disabledAt === null ? [...columns, doing] : columns}
            rows={items}
            keyOf={({ id }) => id}
          />
        )}
      </List>
      <Pager path={path} query={{ cursor }} next={of.data?.nextCursor} />
      {shown && webhook && (
        <OneDelivery webhook={webhook.id} delivery={shown.id} get={get} close={() => setShown(null)} />
      )}
    </section>
  )
}
