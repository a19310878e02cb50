/**
 * The API keys.
 */
import { useState } from 'preact/hooks'
import { t } from '../language/language.ts'
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

const words = t.keys

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
      title={t.frame.page.keys}
      aside={
        <button type="button" onClick={() => setMaking(true)}>
          {words.new}
        </button>
      }
    >
      <p class="soft">{words.about(<code>Authorization: Bearer tg_…</code>)}</p>
      <EndedSecrets keys={keys.data?.data.filter((key) => isOneself(key, members)) ?? []} rotate={setRotating} />
      <section class="panel">
        <List of={keys} empty={<Empty title={words.none}>{words.createFirst}</Empty>}>
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
          {words.secretEnded(key.name)}
          <button type="button" class="small" onClick={() => rotate(key)}>
            {words.newSecret}
          </button>
        </div>
      ))}
  </>
)

const KEY_COLUMNS: Column<ApiKey>[] = [
  { header: words.columns.name, sortBy: 'name', cell: (key) => key.name },
  { header: words.columns.key, cell: (key) => <code>{key.hint}</code> },
  { header: t.words.fields.created, sortBy: 'createdAt', cell: (key) => <Time iso={key.createdAt} /> },
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
  header: words.revoke,
  hidden: true,
  right: true,
  cell: (key) =>
    key.revokedAt ? (
      <span>{words.revoked(<Time iso={key.revokedAt} />)}</span>
    ) : (
      <span class="row">
        {key.secretEndedAt && <span>{words.endedAt(<Time iso={key.secretEndedAt} />)}</span>}
        <button type="button" class="small quiet" aria-label={words.limitsOf(key.name)} onClick={() => edit(key)}>
          {words.limits}
        </button>
        {isOneself(key, members) && (
          <button type="button" class="small quiet" aria-label={words.rotateOne(key.name)} onClick={() => rotate(key)}>
            {words.rotate}
          </button>
        )}
        <button type="button" class="small danger" aria-label={words.revokeOne(key.name)} onClick={() => revoke(key)}>
          {words.revoke}
        </button>
      </span>
    ),
})

/** Keys, revoked ones too, and what may be done to them. */
export function KeyTable({ keys, members = [], revoke, edit, rotate, callsOf }: KeyTableProps) {
  const holder: Column<ApiKey> = {
    header: words.columns.member,
    cell: ({ memberId }) => {
      const found = members.find(({ id }) => id === memberId)
      return found ? memberName(found) : <span class="soft">{words.noMember}</span>
    },
  }
  const lastCall: Column<ApiKey> = {
    header: t.words.fields.lastCall,
    sortBy: 'lastUsedAt',
    cell: (key) => {
      if (!key.lastUsedAt) return t.words.fields.never
      const time = <Time iso={key.lastUsedAt} />
      return callsOf ? <a href={callsOf(key)}>{time}</a> : time
    },
  }
  const budget: Column<ApiKey> = {
    header: words.columns.budget,
    sortBy: ['budget', (key) => key.budget?.remaining],
    cell: (key) => <BudgetMeter budget={key.budget} />,
  }
  return (
    <Table
      label={t.frame.page.keys}
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
      <SecretDialog title={words.yours} secret={secret} close={close}>
        <details>
          <summary>{words.tryIt}</summary>
          <Code text={`curl -s ${location.origin}/v1/models -H 'Authorization: Bearer ${secret}'`} />
        </details>
      </SecretDialog>
    )
  }
  return (
    <Dialog title={words.new} close={close}>
      <Form problem={problem} onSubmit={submit}>
        <Field label={words.columns.name} name="name" required maxLength={60} autoFocus hint={words.nameHint} />
        <details>
          <summary>{words.limits}</summary>
          <LimitFields apiKey={null} />
        </details>
        <Submit foot busy={busy} busyText={t.frame.creating} verb={words.create} />
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
    title={words.revokeTitle(apiKey.name)}
    verb={words.revokeKey}
    busyText={words.revoking}
    danger
    close={close}
    work={async () => {
      await revoke(apiKey.id)
      revoked()
    }}
  >
    {words.revocation(<code>{apiKey.hint}</code>)}
  </Confirm>
)
