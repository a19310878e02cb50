/**
 * One webhook: what can be done with it, and what it was sent.
 */
import { useLocation } from 'preact-iso'
import { useEffect, useState } from 'preact/hooks'
import { t } from '../../language/language.ts'
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

const words = t.webhooks

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
    <Page title={words.webhook} aside={<a href="/webhooks">{words.all}</a>}>
      <section class="panel">
        {missing ? (
          <ErrorMessage problem={words.noSuch} />
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
    <Fact name={t.words.fields.address} long>
      {webhook.url}
    </Fact>
    <Fact name={t.words.fields.state}>
      <State webhook={webhook} />
    </Fact>
    <Fact name={t.words.fields.created}>
      <Time iso={webhook.createdAt} />
    </Fact>
    <Fact name={words.events} long>
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
            {words.test}
          </Action>
        )}
        <Action class={off ? 'small' : 'small quiet'} busy={busy} onClick={toggle}>
          {off ? words.enable : words.disable}
        </Action>
        <button type="button" class="small quiet" onClick={() => setDialog('edit')}>
          {t.members.change}
        </button>
        <button type="button" class="small quiet" onClick={() => setDialog('rotate')}>
          {words.rotateSecret}
        </button>
        <button type="button" class="small danger" onClick={() => setDialog('remove')}>
          {t.words.fields.remove}
        </button>
      </div>
      {dialog === 'edit' && <EditWebhook webhook={webhook} close={close} changed={changed} />}
      {dialog === 'rotate' && (
        <Confirm
          title={words.rotateTitle}
          verb={words.rotateSecret}
          busyText={t.keys.rotating}
          close={close}
          work={async () => setSecret((await rotateWebhook(webhook.id)).secret)}
        >
          {words.rotation}
        </Confirm>
      )}
      {secret !== null && (
        <SecretDialog
          title={t.keys.newSecretTitle}
          secret={secret}
          copy={t.words.fields.copySecret}
          close={() => setSecret(null)}
        />
      )}
      {dialog === 'remove' && <Remove webhook={webhook} close={close} />}
    </>
  )
}

function Remove({ webhook, close }: { webhook: Webhook; close: () => void }) {
  const { route } = useLocation()
  return (
    <Confirm
      title={words.removeTitle}
      verb={words.removeWebhook}
      busyText={t.settings.removing}
      danger
      close={close}
      work={async () => {
        await removeWebhook(webhook.id)
        route('/webhooks', true)
      }}
    >
      {words.removal}
    </Confirm>
  )
}
