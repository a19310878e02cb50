/**
 * What a webhook is made of: its address and its events.
 */
import { useState } from 'preact/hooks'
import type { EventType, Webhook } from '../../api/webhooks.ts'
import { changeWebhook } from '../../api/webhooks.ts'

import { Dialog } from '../../parts/dialogs.tsx'
import { Field, Form, Submit, fieldsOf, useSubmit } from '../../parts/forms.tsx'
import { SecretDialog } from '../../parts/secret-dialog.tsx'

/** When each event of an account is sent (docs/webhooks.md#events). */
export const EVENTS: Record<EventType, string> = {
  'call.succeeded': 'An image, a video or a background chat succeeded',
  'call.failed': 'An image, a video or a background chat failed',
  chat: 'Both of these for every other chat, too',
  'balance.low': 'The balance fell below your mark',
  'budget.exceeded': 'The budget of a key is spent',
  'credits.expiring': 'Credits expire within seven days',
  'payment.succeeded': 'A payment succeeded',
  'payment.refunded': 'A payment was refunded',
  'payment.disputed': 'A payment was disputed',
  'key.created': 'A key was created',
  'key.revoked': 'A key was revoked',
}

/** Chats are many: who wants their events asks for them. */
const isUsual = (type: string): boolean => type !== 'chat'

type Events<Type extends string> = Record<Type, string>

type FieldsProps = { events: Events<string>; webhook: Pick<Webhook, 'url' | 'types'> | null }

function WebhookFields({ events, webhook }: FieldsProps) {
  return (
    <>
      <Field
        label="Address"
        name="url"
        type="url"
        inputMode="url"
        required
        autoFocus
        placeholder="https://example.com/tollgate"
        defaultValue={webhook?.url}
        hint="Events are sent to it by POST, signed as Standard Webhooks are."
      />
      <fieldset class="kinds events">
        <legend>Events</legend>
        {Object.entries(events).map(([type, words]) => (
          <label key={type} class="check">
            <input
              type="checkbox"
              name={type}
              defaultChecked={webhook ? webhook.types.includes(type) : isUsual(type)}
            />
            <span>
              {words} <code>{type}</code>
            </span>
          </label>
        ))}
      </fieldset>
    </>
  )
}

/** What a form of these fields asks for. */
function wantedOf<Type extends string>(event: Event, events: Events<Type>): { url: string; types: Type[] } {
  const texts = fieldsOf(event)
  return { url: texts['url'] ?? '', types: (Object.keys(events) as Type[]).filter((type) => type in texts) }
}

type NewProps<Type extends string> = {
  events: Events<Type>
  create: (url: string, types: Type[]) => Promise<{ webhook: Webhook; secret: string }>
  close: () => void
  made: (webhook: Webhook) => void
}

/** Makes a webhook. Its secret is shown until the dialog is closed, and never again. */
export function NewWebhook<Type extends string>({ events, create, close, made }: NewProps<Type>) {
  const { busy, problem, run } = useSubmit()
  const [secret, setSecret] = useState<string | null>(null)
  const submit = (event: Event): void => {
    const { url, types } = wantedOf(event, events)
    run(async () => {
      const answer = await create(url, types)
      setSecret(answer.secret)
      made(answer.webhook)
    })
  }
  if (secret !== null) {
    return (
      <SecretDialog title="The signing secret" secret={secret} copy="Copy the secret" close={close}>
        <p class="soft">Your server verifies with it that events are from here.</p>
      </SecretDialog>
    )
  }
  return (
    <Dialog title="New webhook" close={close}>
      <Form problem={problem} onSubmit={submit}>
        <WebhookFields events={events} webhook={null} />
        <Submit foot busy={busy} busyText="Creating…" verb="Create webhook" />
      </Form>
    </Dialog>
  )
}

type EditProps = { webhook: Webhook; close: () => void; changed: (webhook: Webhook) => void }

/** Changes the address or the events of a webhook. */
export function EditWebhook({ webhook, close, changed }: EditProps) {
  const { busy, problem, run } = useSubmit()
  const submit = (event: Event): void => {
    const wanted = wantedOf(event, EVENTS)
    run(async () => {
      const answer = await changeWebhook(webhook.id, wanted)
      changed(answer.webhook)
      close()
    })
  }
  return (
    <Dialog title="Change webhook" close={close}>
      <Form problem={problem} onSubmit={submit}>
        <WebhookFields events={EVENTS} webhook={webhook} />
        <Submit foot busy={busy} busyText="Saving…" verb="Save webhook" />
      </Form>
    </Dialog>
  )
}
