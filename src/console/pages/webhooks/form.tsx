/**
 * What a webhook is made of: its address and its events.
 */
import { useState } from 'preact/hooks'
import { t } from '../../language/language.ts'
import type { EventType, Webhook } from '../../api/webhooks.ts'
import { changeWebhook } from '../../api/webhooks.ts'

import { Dialog } from '../../parts/dialogs.tsx'
import { Field, Form, Submit, fieldsOf, useSubmit } from '../../parts/forms.tsx'
import { SecretDialog } from '../../parts/secret-dialog.tsx'

const words = t.webhooks

/** When each event of an account is sent (docs/webhooks.md#events). */
export const EVENTS: Record<EventType, string> = words.when

/** Chats are many: who wants their events asks for them. */
const isUsual = (type: string): boolean => type !== 'chat'

type Events<Type extends string> = Record<Type, string>

type FieldsProps = { events: Events<string>; webhook: Pick<Webhook, 'url' | 'types'> | null }

function WebhookFields({ events, webhook }: FieldsProps) {
  return (
    <>
      <Field
        label={t.words.fields.address}
        name="url"
        type="url"
        inputMode="url"
        required
        autoFocus
        placeholder="https://example.com/tollgate"
        defaultValue={webhook?.url}
        hint={words.urlHint}
      />
      <fieldset class="kinds events">
        <legend>{words.events}</legend>
        {Object.entries(events).map(([type, when]) => (
          <label key={type} class="check">
            <input
              type="checkbox"
              name={type}
              defaultChecked={webhook ? webhook.types.includes(type) : isUsual(type)}
            />
            <span>
              {when} <code>{type}</code>
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
      <SecretDialog title={words.signingSecret} secret={secret} copy={t.words.fields.copySecret} close={close}>
        <p class="soft">{words.aboutSecret}</p>
      </SecretDialog>
    )
  }
  return (
    <Dialog title={words.new} close={close}>
      <Form problem={problem} onSubmit={submit}>
        <WebhookFields events={events} webhook={null} />
        <Submit foot busy={busy} busyText={t.frame.creating} verb={words.create} />
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
    <Dialog title={words.change} close={close}>
      <Form problem={problem} onSubmit={submit}>
        <WebhookFields events={EVENTS} webhook={webhook} />
        <Submit foot busy={busy} busyText={t.settings.saving} verb={words.save} />
      </Form>
    </Dialog>
  )
}
