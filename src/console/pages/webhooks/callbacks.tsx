/**
 * The secret that signs the events of calls with addresses of their own (docs/webhooks.md#callbacks).
 */
import { useState } from 'preact/hooks'
import { t } from '../../language/language.ts'
import { newCallbackSecret } from '../../api/webhooks.ts'
import { Confirm } from '../../parts/dialogs.tsx'
import { SecretDialog } from '../../parts/secret-dialog.tsx'

const words = t.webhooks

export function Callbacks() {
  const [asking, setAsking] = useState(false)
  const [secret, setSecret] = useState<string | null>(null)
  return (
    <section class="panel">
      <h2>{words.callbacks}</h2>
      <p class="soft">{words.aboutCallbacks(<code>X-Callback-Url</code>)}</p>
      <button type="button" class="small quiet" onClick={() => setAsking(true)}>
        {words.newCallback}
      </button>
      {asking && (
        <Confirm
          title={words.callbackTitle}
          verb={words.makeSecret}
          busyText={words.making}
          close={() => setAsking(false)}
          work={async () => setSecret((await newCallbackSecret()).secret)}
        >
          {words.callbackHint}
        </Confirm>
      )}
      {secret !== null && (
        <SecretDialog
          title={words.callbackSecret}
          secret={secret}
          copy={t.words.fields.copySecret}
          close={() => setSecret(null)}
        />
      )}
    </section>
  )
}
