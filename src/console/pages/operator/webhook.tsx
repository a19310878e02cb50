/**
 * One of the operators' own webhooks, and what it was sent.
 */
import { t } from '../../language/language.ts'
import {
  getOperatorsDeliveries,
  getOperatorsDelivery,
  getOperatorsWebhook,
  redeliverOperatorsEvent,
} from '../../api/operator.ts'
import { ErrorMessage, Loading } from '../../parts/basics.tsx'
import { useLoad } from '../../state/load.ts'
import { Deliveries, useDeliveries } from '../webhooks/deliveries.tsx'
import { Facts } from '../webhooks/one.tsx'

const words = t.webhooks

type Props = { id: string; query: Record<string, string> }

export function WebhookSection({ id, query: { cursor } }: Props) {
  const loaded = useLoad(`operators' webhook ${id}`, () => getOperatorsWebhook(id))
  const deliveries = useDeliveries(getOperatorsDeliveries, id, cursor)
  if (loaded.problem?.code === 'not_found') {
    return (
      <section class="panel">
        <ErrorMessage problem={words.noSuch} />
      </section>
    )
  }
  return (
    <>
      <section class="panel">
        <ErrorMessage problem={loaded.problem} retry={loaded.reload} />
        {loaded.data ? <Facts webhook={loaded.data.webhook} /> : !loaded.problem && <Loading rows={3} />}
        <a href="/operator/webhooks">{words.allOfOperators}</a>
      </section>
      <Deliveries
        webhook={loaded.data?.webhook}
        of={deliveries}
        cursor={cursor}
        path={`/operator/webhooks/${id}`}
        redeliver={redeliverOperatorsEvent}
        get={getOperatorsDelivery}
      />
    </>
  )
}
