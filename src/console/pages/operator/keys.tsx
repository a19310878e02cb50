/**
 * The keys of any account, which operators limit, rotate and revoke.
 */
import { useState } from 'preact/hooks'
import { t } from '../../language/language.ts'
import type { ApiKey } from '../../api/endpoints.ts'
import { endSecretOf, getKeysOf, limitAnyKey, revokeAnyKey } from '../../api/operator.ts'
import { Empty } from '../../parts/basics.tsx'
import { Confirm } from '../../parts/dialogs.tsx'
import { List } from '../../parts/list.tsx'
import { useLoad } from '../../state/load.ts'
import { EditKey } from '../key-limits.tsx'
import { KeyTable, Revoke } from '../keys.tsx'

const words = t.accounts

/** `changed`: what operators did to the account has one entry more. */
export function KeysOf({ accountId, changed }: { accountId: string; changed: () => void }) {
  const keys = useLoad(`keys of ${accountId}`, () => getKeysOf(accountId))
  const [editing, setEditing] = useState<ApiKey | null>(null)
  const [rotating, setRotating] = useState<ApiKey | null>(null)
  const [revoking, setRevoking] = useState<ApiKey | null>(null)
  const done = (): void => {
    keys.reload()
    changed()
  }
  return (
    <section class="panel">
      <h2>{t.frame.page.keys}</h2>
      <List of={keys} rows={3} empty={<Empty title={words.noKeys} />}>
        {(items) => <KeyTable keys={items} edit={setEditing} rotate={setRotating} revoke={setRevoking} />}
      </List>
      {editing && <EditKey apiKey={editing} close={() => setEditing(null)} changed={done} change={limitAnyKey} />}
      {rotating && <EndSecret apiKey={rotating} close={() => setRotating(null)} ended={done} />}
      {revoking && <Revoke apiKey={revoking} close={() => setRevoking(null)} revoked={done} revoke={revokeAnyKey} />}
    </section>
  )
}

/** Asks before the secret of a key is ended. Only its owner sees the next one. */
const EndSecret = ({ apiKey, close, ended }: { apiKey: ApiKey; close: () => void; ended: () => void }) => (
  <Confirm
    title={words.endSecretTitle(apiKey.name)}
    verb={words.endSecret}
    busyText={t.words.fields.ending}
    danger
    close={close}
    work={async () => {
      await endSecretOf(apiKey.id)
      ended()
    }}
  >
    {words.secretEnds(<code>{apiKey.hint}</code>)}
  </Confirm>
)
