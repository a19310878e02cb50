/**
 * The secret that signs the events of calls with addresses of their own (docs/webhooks.md#callbacks).
 */
import { useState } from 'preact/hooks'
import { newCallbackSecret } from '../../api/webhooks.ts'
import { Confirm } from '../../parts/dialogs.tsx'
import { SecretDialog } from '../../parts/secret-dialog.tsx'

export function Callbacks() {
  const [asking, setAsking] = useState(false)
  const [secret, setSecret] = useState<string | null>(null)
  return (
    <section class="panel">
      <h2>Callbacks</h2>
      <p class="soft">
        A call with the header <code>X-Callback-Url</code> tells its end to that address, too. These events are signed
        with a secret of their own.
      </p>
      <button type="button" class="small quiet" onClick={() => setAsking(true)}>
        New callback secret
      </button>
      {asking && (
        <Confirm
          title="Make a callback secret?"
          verb="Make secret"
          busyText="Making…"
          close={() => setAsking(false)}
          work={async () => setSecret((await newCallbackSecret()).secret)}
        >
          If one was shown before, both sign for 24 hours, and then only the new one.
        </Confirm>
      )}
      {secret !== null && (
        <SecretDialog
          title="The callback secret"
          secret={secret}
          copy="Copy the secret"
          close={() => setSecret(null)}
        />
      )}
    </section>
  )
}
