/**
 * One webhook: what can be done with it, and what it was sent.
 */
import { useLocation } from 'preact-iso'
import { useEffect, useState } from 'preact/hooks'
import type { Webhook } from '../../api/webhooks.ts'
import {
  changeWebhook,
  getDeliveries,
  getDelivery,
  getWebhook,
  redeliver,
  removeWebhook,
  rotateWebhook,
  testWebhook,
} from '../../api/webhooks.ts'
import { Action, ErrorMessage, Fact, Loading, Page, Time } from '../../parts/basics.tsx'
import { Confirm } from '../../parts/dialogs.tsx'
import { useSubmit } from '../../parts/forms.tsx'
import { SecretDialog } from '../../parts/secret-dialog.tsx'
import { useLoad } from '../../state/load.ts'
import { Deliveries, useDeliveries } from './deliveries.tsx'
import { EditWebhook } from './form.tsx'
import { State } from './state.tsx'

export function OneWebhook({ id, query }: { id: string; query: Record<string, string> }) {
  const loaded = useLoad(`webhook ${id}`, () => getWebhook(id))
  const deliveries = useDeliveries(getDeliveries, id, query['cursor'])
  // What a receiver answers can disable its webhook.
  useEffect(() => {
    if (deliveries.data) loaded.reload()
  }, [deliveries.data, loaded.reload])
  const webhook = loaded.data?.webhook
  const missing = loaded.problem?.code === 'not_found'
  return (
    <Page title="Webhook" aside={<a href="/webhooks">All webhooks</a>}>
      <section class="panel">
        {missing ? (
          <ErrorMessage problem="There is no such webhook. It may have been removed." />
        ) : (
          <ErrorMessage problem={loaded.problem} retry={loaded.reload} />
        )}
        {webhook ? (
          <>
            <Facts webhook={webhook} />
            <Doing
              webhook={webhook}
              changed={(next) => {
                loaded.change(() => ({ webhook: next }))
                // What is held and what is due changes with it.
                deliveries.reload()
              }}
              sent={deliveries.reload}
            />
          </>
        ) : (
          !loaded.problem && <Loading rows={3} />
        )}
      </section>
      {!missing && (
        <Deliveries
          webhook={webhook}
          of={deliveries}
          cursor={query['cursor']}
          path={`/webhooks/${id}`}
          redeliver={redeliver}
          get={getDelivery}
        />
      )}
    </Page>
  )
}

/** What a webhook is. */
export const Facts = ({ webhook }: { webhook: Webhook }) => (
  <dl class="facts">
    <Fact name="Address" long>
      {webhook.url}
    </Fact>
    <Fact name="State">
      <State webhook={webhook} />
    </Fact>
    <Fact name="Created">
      <Time iso={webhook.createdAt} />
    </Fact>
    <Fact name="Events" long>
      {webhook.types.join(', ')}
    </Fact>
  </dl>
)

type DoingProps = { webhook: Webhook; changed: (webhook: Webhook) => void; sent: () => void }

/** What can be done with a webhook. */
function Doing({ webhook, changed, sent }: DoingProps) {
  const { busy, problem, run } = useSubmit()
  const [dialog, setDialog] = useState<'edit' | 'rotate' | 'remove' | null>(null)
  const [secret, setSecret] = useState<string | null>(null)
  const close = (): void => setDialog(null)
  const off = webhook.disabledAt !== null
  const test = (): void =>
    run(async () => {
      await testWebhook(webhook.id)
      sent()
    })
  const toggle = (): void => run(async () => changed((await changeWebhook(webhook.id, { disabled: !off })).webhook))
  return (
    <>
      <ErrorMessage problem={problem} />
      <div class="row">
        {!off && (
          <Action class="small" busy={busy} onClick={test}>
            Send test event
          </Action>
        )}
        <Action class={off ? 'small' : 'small quiet'} busy={busy} onClick={toggle}>
          {off ? 'Enable' : 'Disable'}
        </Action>
        <button type="button" class="small quiet" onClick={() => setDialog('edit')}>
          Change
        </button>
        <button type="button" class="small quiet" onClick={() => setDialog('rotate')}>
          Rotate secret
        </button>
        <button type="button" class="small danger" onClick={() => setDialog('remove')}>
          Remove
        </button>
      </div>
      {dialog === 'edit' && <EditWebhook webhook={webhook} close={close} changed={changed} />}
      {dialog === 'rotate' && (
        <Confirm
          title="Rotate the secret?"
          verb="Rotate secret"
          busyText="Rotating…"
          close={close}
          work={async () => setSecret((await rotateWebhook(webhook.id)).secret)}
        >
          For 24 hours every event is signed with both secrets, then only with the new one.
        </Confirm>
      )}
      {secret !== null && (
        <SecretDialog title="The new secret" secret={secret} copy="Copy the secret" close={() => setSecret(null)} />
      )}
      {dialog === 'remove' && <Remove webhook={webhook} close={close} />}
    </>
  )
}

function Remove({ webhook, close }: { webhook: Webhook; close: () => void }) {
  const { route } = useLocation()
  return (
    <Confirm
      title="Remove this webhook?"
      verb="Remove webhook"
      busyText="Removing…"
      danger
      close={close}
      work={async () => {
        await removeWebhook(webhook.id)
        route('/webhooks', true)
      }}
    >
      Events that were not delivered yet are not sent any more, and the list of deliveries is removed, too. This cannot
      be undone.
    </Confirm>
  )
}
