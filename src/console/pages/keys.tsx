/**
 * The API keys.
 */
import { useState } from 'preact/hooks'
import type { ApiKey } from '../api/endpoints.ts'
import { createKey, getKeys, revokeKey } from '../api/endpoints.ts'
import type { Member } from '../api/organisations.ts'
import { Code, Empty, Page, Time } from '../parts/basics.tsx'
import { BudgetMeter } from '../parts/budget.tsx'
import { Confirm, Dialog } from '../parts/dialogs.tsx'
import { Field, Form, Submit, useSubmit } from '../parts/forms.tsx'
import { List } from '../parts/list.tsx'
import { SecretDialog } from '../parts/secret-dialog.tsx'
import { EditKey, LimitFields, RotateKey, limitsOf } from './key-limits.tsx'
import type { Column } from '../parts/table.tsx'
import { Table } from '../parts/table.tsx'
import { useLoad } from '../state/load.ts'
import { isOneself, memberName, useMembers } from '../state/members.ts'

export function KeysPage() {
  const keys = useLoad('keys', getKeys)
  const members = useMembers() ?? []
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
      <EndedSecrets keys={keys.data?.data.filter((key) => isOneself(key, members)) ?? []} rotate={setRotating} />
      <section class="panel">
        <List of={keys} empty={<Empty title="No keys yet">Create one to call your first model.</Empty>}>
          {(items) => (
            <KeyTable
              keys={items}
              members={members}
              revoke={setRevoking}
              edit={setEditing}
              rotate={setRotating}
              callsOf={({ id }) => `/calls?keyId=${id}`}
            />
          )}
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

/** Keys that are refused until their owner makes a new secret, and why. */
const EndedSecrets = ({ keys, rotate }: { keys: ApiKey[]; rotate: Chosen }) => (
  <>
    {keys
      .filter(({ secretEndedAt, revokedAt }) => secretEndedAt !== null && revokedAt === null)
      .map((key) => (
        <div class="notice" role="status" key={key.id}>
          An operator ended the secret of {key.name}: programs that use it are refused.{' '}
          <button type="button" class="small" onClick={() => rotate(key)}>
            Make a new secret
          </button>
        </div>
      ))}
  </>
)

const KEY_COLUMNS: Column<ApiKey>[] = [
  { header: 'Name', sortBy: ({ name }) => name, cell: (key) => key.name },
  { header: 'Key', cell: (key) => <code>{key.hint}</code> },
  { header: 'Created', sortBy: ({ createdAt }) => createdAt, cell: (key) => <Time iso={key.createdAt} /> },
]

type Chosen = (key: ApiKey) => void

type KeyTableProps = {
  keys: ApiKey[]
  /** Whose keys they are, where that is not only one's own: their secrets are for their holders to renew. */
  members?: Member[]
  revoke: Chosen
  edit: Chosen
  rotate: Chosen
  /** Where the calls of a key are listed. */
  callsOf?: (key: ApiKey) => string
}

type Actions = Pick<KeyTableProps, 'members' | 'revoke' | 'edit' | 'rotate'>

/** What may be done to a key. */
const actions = ({ members = [], revoke, edit, rotate }: Actions): Column<ApiKey> => ({
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
        {key.secretEndedAt && (
          <span>
            secret ended <Time iso={key.secretEndedAt} />
          </span>
        )}
        <button type="button" class="small quiet" aria-label={`Limits of ${key.name}`} onClick={() => edit(key)}>
          Limits
        </button>
        {isOneself(key, members) && (
          <button type="button" class="small quiet" aria-label={`Rotate ${key.name}`} onClick={() => rotate(key)}>
            Rotate
          </button>
        )}
        <button type="button" class="small danger" aria-label={`Revoke ${key.name}`} onClick={() => revoke(key)}>
          Revoke
        </button>
      </span>
    ),
})

/** Keys, revoked ones too, and what may be done to them. */
export function KeyTable({ keys, members = [], revoke, edit, rotate, callsOf }: KeyTableProps) {
  const holder: Column<ApiKey> = {
    header: 'Member',
    cell: ({ memberId }) => {
      const found = members.find(({ id }) => id === memberId)
      return found ? memberName(found) : <span class="soft">no longer a member</span>
    },
  }
  const lastCall: Column<ApiKey> = {
    header: 'Last call',
    sortBy: ({ lastUsedAt }) => lastUsedAt,
    cell: (key) => {
      if (!key.lastUsedAt) return 'never'
      const time = <Time iso={key.lastUsedAt} />
      return callsOf ? <a href={callsOf(key)}>{time}</a> : time
    },
  }
  const budget: Column<ApiKey> = {
    header: 'Budget',
    sortBy: (key) => key.budget?.remaining,
    cell: (key) => <BudgetMeter budget={key.budget} />,
  }
  return (
    <Table
      label="Keys"
      columns={[
        ...KEY_COLUMNS,
        ...(members.length > 0 ? [holder] : []),
        lastCall,
        budget,
        actions({ members, revoke, edit, rotate }),
      ]}
      rows={keys}
      keyOf={(key) => key.id}
      faded={(key) => key.revokedAt !== null}
      textOf={({ name, hint, id }) => `${name} ${hint} ${id}`}
    />
  )
}

/** Makes a key. Its secret is shown until the dialog is closed, and never again. */
export function NewKey({ close, made }: { close: () => void; made: (key: ApiKey, secret: string) => void }) {
  const { busy, problem, submits } = useSubmit()
  const [secret, setSecret] = useState<string | null>(null)
  const submit = submits(async ({ name = '', ...texts }) => {
    const answer = await createKey(name, limitsOf(texts, null))
    setSecret(answer.secret)
    made(answer.key, answer.secret)
  })
  if (secret !== null) {
    return (
      <SecretDialog title="Your new key" secret={secret} close={close}>
        <details>
          <summary>Try it with curl</summary>
          <Code text={`curl -s ${location.origin}/v1/models -H 'Authorization: Bearer ${secret}'`} />
        </details>
      </SecretDialog>
    )
  }
  return (
    <Dialog title="New key" close={close}>
      <Form problem={problem} onSubmit={submit}>
        <Field
          label="Name"
          name="name"
          required
          maxLength={60}
          autoFocus
          hint="Something to recognize it by: laptop, server, …"
        />
        <details>
          <summary>Limits</summary>
          <LimitFields apiKey={null} />
        </details>
        <Submit foot busy={busy} busyText="Creating…" verb="Create key" />
      </Form>
    </Dialog>
  )
}

type RevokeProps = {
  apiKey: ApiKey
  close: () => void
  revoked: () => void
  /** For operators, who revoke any key. */
  revoke?: (id: string) => Promise<unknown>
}

/** Asks before a key is revoked for good. */
export const Revoke = ({ apiKey, close, revoked, revoke = revokeKey }: RevokeProps) => (
  <Confirm
    title={`Revoke ${apiKey.name}?`}
    verb="Revoke key"
    busyText="Revoking…"
    danger
    close={close}
    work={async () => {
      await revoke(apiKey.id)
      revoked()
    }}
  >
    Programs that use <code>{apiKey.hint}</code> will be refused from now on. Calls already in progress will finish.
    This cannot be undone.
  </Confirm>
)
