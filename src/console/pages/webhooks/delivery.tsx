/**
 * One delivery: what was sent, and what was answered to each try.
 */
import { t } from '../../language/language.ts'
import type { DeliveryDetails } from '../../api/webhooks.ts'
import { Code, ErrorMessage, Loading, Time } from '../../parts/basics.tsx'
import { Dialog } from '../../parts/dialogs.tsx'
import type { Column } from '../../parts/table.tsx'
import { Table } from '../../parts/table.tsx'
import { useLoad } from '../../state/load.ts'
import { DeliveryState, answerText } from './state.tsx'

const words = t.webhooks

/** Asks for one delivery of a webhook. */
export type GetDelivery = (webhook: string, delivery: string) => Promise<DeliveryDetails>

type Try = DeliveryDetails['tries'][number]

const COLUMNS: Column<Try>[] = [
  { header: words.ended, cell: ({ at }) => <Time iso={at} /> },
  {
    header: t.words.fields.answer,
    cell: (one) => <span class={`status ${one.note === null ? 'succeeded' : 'failed'}`}>{answerText(one)}</span>,
  },
  { header: words.began, class: 'wrap', cell: ({ answer }) => answer && <code>{answer}</code> },
]

type Props = { webhook: string; delivery: string; get: GetDelivery; close: () => void }

export function OneDelivery({ webhook, delivery, get, close }: Props) {
  const { data, problem, reload } = useLoad(`delivery ${delivery}`, () => get(webhook, delivery))
  return (
    <Dialog title={words.delivery} close={close} drawer>
      <ErrorMessage problem={problem} retry={reload} />
      {data ? <Shown details={data} /> : !problem && <Loading rows={8} />}
    </Dialog>
  )
}

function Shown({ details: { delivery, sent, tries } }: { details: DeliveryDetails }) {
  const headers = Object.entries(sent.headers).map(([name, value]) => `${name}: ${value}`)
  return (
    <>
      <p>
        <strong>{delivery.type}</strong> <DeliveryState delivery={delivery} />
      </p>
      <h3>{t.words.fields.tries}</h3>
      {tries.length === 0 ? (
        <p class="soft">{words.noTry}</p>
      ) : (
        <Table label={t.words.fields.tries} columns={COLUMNS} rows={tries} keyOf={({ at }) => at} broad={false} />
      )}
      <h3>{words.request}</h3>
      <Code text={[`POST ${sent.url}`, ...headers].join('\n')} />
      <p class="soft">{words.eachTry(<code>webhook-timestamp</code>, <code>webhook-signature</code>)}</p>
      <h3>{words.body}</h3>
      <Code text={prettyOf(sent.body)} />
    </>
  )
}

/** A body to read: it is sent without these spaces. */
const prettyOf = (body: string): string => JSON.stringify(JSON.parse(body), null, 2)
