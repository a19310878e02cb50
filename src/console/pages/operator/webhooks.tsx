/**
 * The operators' own webhooks: where events of the whole service are reported.
 */
import { useState } from 'preact/hooks'
import type { OperatorsEvent } from '../../api/operator.ts'
import {
  addOperatorsWebhook,
  getOperatorsWebhooks,
  removeOperatorsWebhook,
  rotateOperatorsWebhook,
  switchOperatorsWebhook,
  testOperatorsWebhook,
} from '../../api/operator.ts'
import type { Webhook } from '../../api/webhooks.ts'
import { Action, Done, Empty, ErrorMessage } from '../../parts/basics.tsx'
import { Confirm } from '../../parts/dialogs.tsx'
import type { SubmitState } from '../../parts/forms.tsx'
import { useSubmit } from '../../parts/forms.tsx'
import { List } from '../../parts/list.tsx'
import { SecretDialog } from '../../parts/secret-dialog.tsx'
import type { Column } from '../../parts/table.tsx'
import { Table } from '../../parts/table.tsx'
import { useLoad } from '../../state/load.ts'
import { NewWebhook } from '../webhooks/form.tsx'
import { State } from '../webhooks/state.tsx'

const EVENTS: Record<OperatorsEvent, string> = {
  'payment.disputed': 'A payment of any account is disputed',
  'payment.review': "A payment needs an operator's decision",
  'mail.dead': 'An e-mail could not be delivered',
  'upstream.unhealthy': 'The circuit of an upstream opened',
  'upstream.recovered': 'That upstream works again',
  'upstream.key.failed': 'A key of an upstream is refused, or has no credit',
  'reconciler.refunded': 'A call that no process worked on was refunded',
}

const COLUMNS: Column<Webhook>[] = [
  {
    header: 'Address',
    class: 'wrap',
    cell: ({ id, url }) => <a href={`/operator/webhooks/${id}`}>{url}</a>,
  },
  { header: 'Events', class: 'wrap', cell: ({ types }) => types.join(', ') },
  { header: 'State', cell: (webhook) => <State webhook={webhook} /> },
]

type Asking = { webhook: Webhook; about: 'rotate' | 'remove' }

export function WebhooksSection() {
  const webhooks = useLoad("operators' webhooks", getOperatorsWebhooks)
  const [making, setMaking] = useState(false)
  const [asking, setAsking] = useState<Asking | null>(null)
  const [secret, setSecret] = useState<string | null>(null)
  const [sent, setSent] = useState<string | null>(null)
  const work = useSubmit()
  const put = (webhook: Webhook): void =>
    webhooks.change(({ data }) => ({ data: data.map((one) => (one.id === webhook.id ? webhook : one)) }))
  const doing: Column<Webhook> = {
    header: 'Test, switch, rotate or remove',
    hidden: true,
    right: true,
    cell: (webhook) => <Doing webhook={webhook} work={work} ask={setAsking} changed={put} tested={setSent} />,
  }
  const drop = (id: string): void => webhooks.change(({ data }) => ({ data: data.filter((one) => one.id !== id) }))
  return (
    <section class="panel">
      <div class="row between head">
        <h2>Where operators are told</h2>
        <button type="button" class="small" onClick={() => setMaking(true)}>
          New webhook
        </button>
      </div>
      <ErrorMessage problem={work.problem} />
      <List of={webhooks} rows={3} empty={<Empty title="No webhooks yet">Create one to be told of events.</Empty>}>
        {(items) => <Table label="Webhooks" broad columns={[...COLUMNS, doing]} rows={items} keyOf={({ id }) => id} />}
      </List>
      <Done text={sent} />
      {making && (
        <NewWebhook
          events={EVENTS}
          create={addOperatorsWebhook}
          close={() => setMaking(false)}
          made={(webhook) => webhooks.change(({ data }) => ({ data: [...data, webhook] }))}
        />
      )}
      {asking && (
        <Ask {...asking} close={() => setAsking(null)} rotated={setSecret} removed={() => drop(asking.webhook.id)} />
      )}
      {secret !== null && (
        <SecretDialog title="The new secret" secret={secret} copy="Copy the secret" close={() => setSecret(null)} />
      )}
    </section>
  )
}

type DoingProps = {
  webhook: Webhook
  work: SubmitState
  ask: (asking: Asking) => void
  changed: (webhook: Webhook) => void
  tested: (words: string) => void
}

/** What can be done with a webhook. */
function Doing({ webhook, work: { busy, run }, ask, changed, tested }: DoingProps) {
  const { id, url, disabledAt } = webhook
  const verb = disabledAt === null ? 'Disable' : 'Enable'
  const test = (): void =>
    run(async () => {
      await testOperatorsWebhook(id)
      tested(`A test event is on its way to ${url}.`)
    })
  const toggle = (): void => run(async () => changed((await switchOperatorsWebhook(id, disabledAt === null)).webhook))
  return (
    <span class="row">
      {disabledAt === null && (
        <Action class="small quiet" busy={busy} aria-label={`Test ${url}`} onClick={test}>
          Test
        </Action>
      )}
      <Action class="small quiet" busy={busy} aria-label={`${verb} ${url}`} onClick={toggle}>
        {verb}
      </Action>
      <button
        type="button"
        class="small quiet"
        aria-label={`Rotate the secret of ${url}`}
        onClick={() => ask({ webhook, about: 'rotate' })}
      >
        Rotate
      </button>
      <button
        type="button"
        class="small danger"
        aria-label={`Remove ${url}`}
        onClick={() => ask({ webhook, about: 'remove' })}
      >
        Remove
      </button>
    </span>
  )
}

type AskProps = Asking & { close: () => void; rotated: (secret: string) => void; removed: () => void }

/** Asks before a secret is rotated, or a webhook removed. */
const Ask = ({ webhook: { id, url }, about, close, rotated, removed }: AskProps) =>
  about === 'rotate' ? (
    <Confirm
      title="Rotate the secret?"
      verb="Rotate secret"
      busyText="Rotating…"
      close={close}
      work={async () => rotated((await rotateOperatorsWebhook(id)).secret)}
    >
      For 24 hours every event is signed with both secrets, then only with the new one.
    </Confirm>
  ) : (
    <Confirm
      title="Remove this webhook?"
      verb="Remove webhook"
      busyText="Removing…"
      danger
      close={close}
      work={async () => {
        await removeOperatorsWebhook(id)
        removed()
      }}
    >
      Nothing is sent to {url} any more, also not what waits.
    </Confirm>
  )
