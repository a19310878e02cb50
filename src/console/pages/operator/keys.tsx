/**
 * The keys of any account, which operators limit, rotate and revoke.
 */
import { useState } from 'preact/hooks'
import type { ApiKey } from '../../api/endpoints.ts'
import { getKeysOf, limitAnyKey, revokeAnyKey, rotateAnyKey } from '../../api/operator.ts'
import { Empty } from '../../parts/basics.tsx'
import { List } from '../../parts/list.tsx'
import { useLoad } from '../../state/load.ts'
import { EditKey, RotateKey } from '../key-limits.tsx'
import { KeyTable, Revoke } from '../keys.tsx'

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
      <h2>Keys</h2>
      <List of={keys} rows={3} empty={<Empty title="No keys yet" />}>
        {(items) => <KeyTable keys={items} edit={setEditing} rotate={setRotating} revoke={setRevoking} />}
      </List>
      {editing && <EditKey apiKey={editing} close={() => setEditing(null)} changed={done} change={limitAnyKey} />}
      {rotating && <RotateKey apiKey={rotating} close={() => setRotating(null)} changed={done} rotate={rotateAnyKey} />}
      {revoking && <Revoke apiKey={revoking} close={() => setRevoking(null)} revoked={done} revoke={revokeAnyKey} />}
    </section>
  )
}
