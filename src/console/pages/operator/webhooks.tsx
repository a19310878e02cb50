/**
 * The operators' own webhooks: where events of the whole service are reported.
 */
import { useState } from 'preact/hooks'
import { t } from '../../language/language.ts'
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

const words = t.webhooks

const EVENTS: Record<OperatorsEvent, string> = words.operatorsWhen

const COLUMNS: Column<Webhook>[] = [
  {
    header: t.words.fields.address,
    class: 'wrap',
    cell: ({ id, url }) => <a href={`/operator/webhooks/${id}`}>{url}</a>,
  },
  { header: words.events, class: 'wrap', cell: ({ types }) => types.join(', ') },
  { header: t.words.fields.state, cell: (webhook) => <State webhook={webhook} /> },
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
    header: words.doing,
    hidden: true,
    right: true,
    cell: (webhook) => <Doing webhook={webhook} work={work} ask={setAsking} changed={put} tested={setSent} />,
  }
  const drop = (id: string): void => webhooks.change(({ data }) => ({ data: data.filter((one) => one.id !== id) }))
  return (
    <section class="panel">
      <div class="row between head">
        <h2>{words.told}</h2>
        <button type="button" class="small" onClick={() => setMaking(true)}>
          {words.new}
        </button>
      </div>
      <ErrorMessage problem={work.problem} />
      <List of={webhooks} rows={3} empty={<Empty title={words.none}>{words.createOne}</Empty>}>
        {(items) => (
          <Table
            label={t.frame.page.webhooks}
            broad
            columns={[...COLUMNS, doing]}
            rows={items}
            keyOf={({ id }) => id}
          />
        )}
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
        <SecretDialog
          title={t.keys.newSecretTitle}
          secret={secret}
          copy={t.words.fields.copySecret}
          close={() => setSecret(null)}
        />
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
  const verb = disabledAt === null ? words.disable : words.enable
  const test = (): void =>
    run(async () => {
      await testOperatorsWebhook(id)
      tested(words.tested(url))
    })
  const toggle = (): void => run(async () => changed((await switchOperatorsWebhook(id, disabledAt === null)).webhook))
  return (
    <span class="row">
      {disabledAt === null && (
        <Action class="small quiet" busy={busy} aria-label={words.verbOne(words.testOne, url)} onClick={test}>
          {words.testOne}
        </Action>
      )}
      <Action class="small quiet" busy={busy} aria-label={words.verbOne(verb, url)} onClick={toggle}>
        {verb}
      </Action>
      <button
        type="button"
        class="small quiet"
        aria-label={words.rotateOne(url)}
        onClick={() => ask({ webhook, about: 'rotate' })}
      >
        {t.keys.rotate}
      </button>
      <button
        type="button"
        class="small danger"
        aria-label={t.members.removeOne(url)}
        onClick={() => ask({ webhook, about: 'remove' })}
      >
        {t.words.fields.remove}
      </button>
    </span>
  )
}

type AskProps = Asking & { close: () => void; rotated: (secret: string) => void; removed: () => void }

/** Asks before a secret is rotated, or a webhook removed. */
const Ask = ({ webhook: { id, url }, about, close, rotated, removed }: AskProps) =>
  about === 'rotate' ? (
    <Confirm
      title={words.rotateTitle}
      verb={words.rotateSecret}
      busyText={t.keys.rotating}
      close={close}
      work={async () => rotated((await rotateOperatorsWebhook(id)).secret)}
    >
      {words.rotation}
    </Confirm>
  ) : (
    <Confirm
      title={words.removeTitle}
      verb={words.removeWebhook}
      busyText={t.settings.removing}
      danger
      close={close}
      work={async () => {
        await removeOperatorsWebhook(id)
        removed()
      }}
    >
      {words.removalOf(url)}
    </Confirm>
  )
