/**
 * The webhooks: where events of the account are sent.
 */
import { useState } from 'preact/hooks'
import { t } from '../../language/language.ts'
import type { Webhook } from '../../api/webhooks.ts'
import { createWebhook, getWebhooks } from '../../api/webhooks.ts'
import { Empty, Page, Time } from '../../parts/basics.tsx'
import { counted } from '../../parts/format.ts'
import { List } from '../../parts/list.tsx'
import type { PageProps } from '../../parts/route.ts'
import type { Column } from '../../parts/table.tsx'
import { Table } from '../../parts/table.tsx'
import { useLoad } from '../../state/load.ts'
import { Callbacks } from './callbacks.tsx'
import { EVENTS, NewWebhook } from './form.tsx'
import { OneWebhook } from './one.tsx'
import { State } from './state.tsx'

const words = t.webhooks

export function WebhooksPage({ params: { id }, query }: PageProps) {
  return id === undefined ? <AllWebhooks /> : <OneWebhook key={id} id={id} query={query} />
}

const COLUMNS: Column<Webhook>[] = [
  {
    header: t.words.fields.address,
    sortBy: 'url',
    class: 'wrap',
    cell: (webhook) => <a href={`/webhooks/${webhook.id}`}>{webhook.url}</a>,
  },
  {
    header: words.events,
    cell: ({ types }) => (
      <span title={types.join(', ')}>{types.length === 1 ? types[0] : counted(types.length, 'event')}</span>
    ),
  },
  { header: t.words.fields.state, cell: (webhook) => <State webhook={webhook} /> },
  { header: t.words.fields.created, sortBy: 'createdAt', cell: (webhook) => <Time iso={webhook.createdAt} /> },
]

function AllWebhooks() {
  const webhooks = useLoad('webhooks', getWebhooks)
  const [making, setMaking] = useState(false)
  return (
    <Page
      title={t.frame.page.webhooks}
      aside={
        <button type="button" onClick={() => setMaking(true)}>
          {words.new}
        </button>
      }
    >
      <p class="soft">{words.about}</p>
      <section class="panel">
        <List of={webhooks} rows={3} empty={<Empty title={words.none}>{words.createOne}</Empty>}>
          {(items) => (
            <Table
              label={t.frame.page.webhooks}
              columns={COLUMNS}
              rows={items}
              keyOf={({ id }) => id}
              faded={({ disabledAt }) => disabledAt !== null}
            />
          )}
        </List>
      </section>
      <Callbacks />
      {making && (
        <NewWebhook
          events={EVENTS}
          create={createWebhook}
          close={() => setMaking(false)}
          made={(webhook) => webhooks.change(({ data }) => ({ data: [...data, webhook] }))}
        />
      )}
    </Page>
  )
}
