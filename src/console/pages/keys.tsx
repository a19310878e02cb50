/**
 * The API keys.
 */
import { useState } from 'preact/hooks'
import type { ApiKey } from '../api/endpoints.ts'
import { createKey, getKeys, revokeKey } from '../api/endpoints.ts'
import { Action, Code, Empty, Page, Time, ErrorMessage } from '../parts/basics.tsx'
import { Dialog } from '../parts/dialogs.tsx'
import { Field, fieldsOf, useSubmit } from '../parts/forms.tsx'
import { List } from '../parts/list.tsx'
import { BudgetMeter, EditKey, LimitFields, RotateKey, limitsOf } from './key-limits.tsx'
import type { Column } from '../parts/table.tsx'
import { Table } from '../parts/table.tsx'
import { useLoad } from '../state/load.ts'

export function KeysPage() {
  const keys = useLoad('keys', getKeys)
  const [making, setMaking] = useState(false)
  const [revoking, setRevoking] = useState<ApiKey | null>(null)
  const [editing, setEditing] = useState<ApiKey | null>(null)
  const [rotating, setRotating] = useState<ApiKey | null>(null)
  const put = (key: ApiKey): void =>
    keys.change(({ data }) => ({
      data: data.some(({ id }) => id === key.id) ? data.map((one) => (one.id === key.id ? key : one)) : [key, ...data],
    }))
  return (
    <Page
      title="Keys"
      aside={
        <button type="button" onClick={() => setMaking(true)}>
          New key
        </button>
      }
    >
      <p class="soft">
        Your programs send a key with every request, as <code>Authorization: Bearer tg_…</code>.
      </p>
      <section class="panel">
        <List of={keys} empty={<Empty title="No keys yet">Create one to call your first model.</Empty>}>
          {(items) => <KeyTable keys={items} revoke={setRevoking} edit={setEditing} rotate={setRotating} />}
        </List>
      </section>
      {making && <NewKey close={() => setMaking(false)} made={put} />}
      {editing && <EditKey apiKey={editing} close={() => setEditing(null)} changed={put} />}
      {rotating && <RotateKey apiKey={rotating} close={() => setRotating(null)} changed={put} />}
      {revoking && (
        <Revoke
          apiKey={revoking}
          close={() => setRevoking(null)}
          revoked={() => put({ ...revoking, revokedAt: new Date().toISOString() })}
        />
      )}
    </Page>
  )
}

const KEY_COLUMNS: Column<ApiKey>[] = [
  { header: 'Name', cell: (key) => key.name },
  { header: 'Key', cell: (key) => <code>{key.hint}</code> },
  { header: 'Created', cell: (key) => <Time iso={key.createdAt} /> },
  {
    header: 'Last call',
    cell: (key) =>
      key.lastUsedAt ? (
        <a href={`/calls?keyId=${key.id}`}>
          <Time iso={key.lastUsedAt} />
        </a>
      ) : (
        'never'
      ),
  },
  { header: 'Budget', cell: (key) => <BudgetMeter budget={key.budget} /> },
]

type Chosen = (key: ApiKey) => void

function KeyTable({ keys, revoke, edit, rotate }: { keys: ApiKey[]; revoke: Chosen; edit: Chosen; rotate: Chosen }) {
  const revoking: Column<ApiKey> = {
    header: 'Revoke',
    hidden: true,
    right: true,
    cell: (key) =>
      key.revokedAt ? (
        <span>
          revoked <Time iso={key.revokedAt} />
        </span>
      ) : (
        <span class="row">
          <button type="button" class="small quiet" aria-label={`Limits of ${key.name}`} onClick={() => edit(key)}>
            Limits
          </button>
          <button type="button" class="small quiet" aria-label={`Rotate ${key.name}`} onClick={() => rotate(key)}>
            Rotate
          </button>
          <button type="button" class="small danger" aria-label={`Revoke ${key.name}`} onClick={() => revoke(key)}>
            Revoke
          </button>
        </span>
      ),
  }
  return (
    <Table
      label="Keys"
      columns={[...KEY_COLUMNS, revoking]}
      rows={keys}
      keyOf={(key) => key.id}
      faded={(key) => key.revokedAt !== null}
    />
  )
}

/** Makes a key. Its secret is shown until the dialog is closed, and never again. */
export function NewKey({ close, made }: { close: () => void; made: (key: ApiKey, secret: string) => void }) {
  const { busy, problem, run } = useSubmit()
  const [secret, setSecret] = useState<string | null>(null)
  const submit = (event: Event): void => {
    const { name = '', ...texts } = fieldsOf(event)
    run(async () => {
      const answer = await createKey(name, limitsOf(texts, null))
      setSecret(answer.secret)
      made(answer.key, answer.secret)
    })
  }
  if (secret !== null) {
    return (
      <Dialog key="secret" title="Your new key" close={close} keep>
        <div class="notice" role="status">
          Copy it now. It will not be shown again.
        </div>
        <div data-testid="secret">
          <Code text={secret} label="Copy the key" />
        </div>
        <details>
          <summary>Try it with curl</summary>
          <Code text={`curl -s ${location.origin}/v1/models -H 'Authorization: Bearer ${secret}'`} />
        </details>
        <button type="button" onClick={close}>
          Done
        </button>
      </Dialog>
    )
  }
  return (
    <Dialog title="New key" close={close}>
      <form onSubmit={submit} noValidate>
        <Field
          label="Name"
          name="name"
          required
          maxLength={60}
          autoFocus
          hint="Something to recognize it by: laptop, server, …"
          invalid={problem?.code === 'invalid_request'}
        />
        <details>
          <summary>Limits</summary>
          <LimitFields apiKey={null} />
        </details>
        <ErrorMessage problem={problem} />
        <Action type="submit" busy={busy} busyText="Creating…">
          Create key
        </Action>
      </form>
    </Dialog>
  )
}

function Revoke({ apiKey, close, revoked }: { apiKey: ApiKey; close: () => void; revoked: () => void }) {
  const { busy, problem, run } = useSubmit()
  const revoke = (): void =>
    run(async () => {
      await revokeKey(apiKey.id)
      revoked()
      close()
    })
  return (
    <Dialog title={`Revoke ${apiKey.name}?`} close={close}>
      <p>
        Programs that use <code>{apiKey.hint}</code> will be refused from now on. Calls already in progress will finish.
        This cannot be undone.
      </p>
      <ErrorMessage problem={problem} />
      <div class="row">
        <Action class="danger" busy={busy} busyText="Revoking…" onClick={revoke}>
          Revoke key
        </Action>
        <button type="button" class="quiet" onClick={close}>
          Cancel
        </button>
      </div>
    </Dialog>
  )
}
