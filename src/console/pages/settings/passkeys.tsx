/**
 * The passkeys of a user: with one they sign in without a password.
 */
import { useState } from 'preact/hooks'
import type { Passkey } from '../../api/endpoints.ts'
import { addPasskey, beginPasskey, getPasskeys, removePasskey } from '../../api/endpoints.ts'
import { renamePasskey } from '../../api/providers.ts'
import { ErrorMessage, Loading, Time } from '../../parts/basics.tsx'
import { deviceName } from '../../parts/device.ts'
import { Confirm, Dialog } from '../../parts/dialogs.tsx'
import { Field, Form, Submit, useSubmit } from '../../parts/forms.tsx'
import { hasPasskeys, makePasskey } from '../../parts/passkeys.ts'
import { useLoad } from '../../state/load.ts'
import { RecoveryCodes } from './second-factor.tsx'

/** Lists, adds and removes passkeys. `added` is called once one was added. */
export function Passkeys({ added = () => {} }: { added?: () => void }) {
  const passkeys = useLoad('passkeys', getPasskeys)
  const [isAdding, setAdding] = useState(false)
  const [codes, setCodes] = useState<string[] | null>(null)
  const [removing, setRemoving] = useState<Passkey | null>(null)
  const made = (recoveryCodes: string[] | null): void => {
    setAdding(false)
    passkeys.reload()
    if (recoveryCodes) setCodes(recoveryCodes)
    else added()
  }
  const seen = (): void => {
    setCodes(null)
    added()
  }
  return (
    <section class="panel">
      <h2>Passkeys</h2>
      <p class="soft">A passkey signs you in by your fingerprint, face or PIN, without a password.</p>
      <ErrorMessage problem={passkeys.problem} retry={passkeys.reload} />
      {!passkeys.data && !passkeys.problem && <Loading rows={2} />}
      <ul class="sessions">
        {passkeys.data?.data.map((passkey) => (
          <OnePasskey
            key={passkey.id}
            passkey={passkey}
            renamed={passkeys.reload}
            remove={() => setRemoving(passkey)}
          />
        ))}
      </ul>
      {hasPasskeys() ? (
        <button type="button" onClick={() => setAdding(true)}>
          Add a passkey
        </button>
      ) : (
        <p class="soft">This browser has no passkeys for this address.</p>
      )}
      {isAdding && <AddPasskey close={() => setAdding(false)} made={made} />}
      {codes && <RecoveryCodes codes={codes} close={seen} />}
      {removing && (
        <Confirm
          title={`Remove the passkey “${removing.name}”?`}
          verb="Remove"
          busyText="Removing…"
          danger
          close={() => setRemoving(null)}
          work={async () => {
            await removePasskey(removing.id)
            passkeys.reload()
          }}
        >
          It no longer signs you in. If it is your last second factor, signing in needs the password alone.
        </Confirm>
      )}
    </section>
  )
}

type OneProps = { passkey: Passkey; renamed: () => void; remove: () => void }

function OnePasskey({ passkey, renamed, remove }: OneProps) {
  const { name, createdAt, lastUsedAt } = passkey
  const [isRenaming, setRenaming] = useState(false)
  return (
    <li>
      <span>
        {name}
        <br />
        <small class="soft">
          added <Time iso={createdAt} /> ·{' '}
          {lastUsedAt ? (
            <>
              last used <Time iso={lastUsedAt} />
            </>
          ) : (
            'never used'
          )}
        </small>
      </span>
      <button type="button" class="small quiet" aria-label={`Rename ${name}`} onClick={() => setRenaming(true)}>
        Rename
      </button>
      <button type="button" class="small danger" aria-label={`Remove ${name}`} onClick={remove}>
        Remove
      </button>
      {isRenaming && (
        <RenamePasskey
          passkey={passkey}
          close={() => setRenaming(false)}
          renamed={() => {
            setRenaming(false)
            renamed()
          }}
        />
      )}
    </li>
  )
}

type RenameProps = { passkey: Passkey; close: () => void; renamed: () => void }

function RenamePasskey({ passkey, close, renamed }: RenameProps) {
  const { busy, problem, submits } = useSubmit()
  const submit = submits(async ({ name = '' }) => {
    await renamePasskey(passkey.id, { name })
    renamed()
  })
  return (
    <Dialog title="Rename the passkey" close={close}>
      <Form problem={problem} onSubmit={submit}>
        <Field label="Name" name="name" defaultValue={passkey.name} maxLength={60} required />
        <Submit busy={busy} busyText="Saving…" verb="Save" cancel={close} />
      </Form>
    </Dialog>
  )
}

type AddProps = { close: () => void; made: (recoveryCodes: string[] | null) => void }

function AddPasskey({ close, made }: AddProps) {
  const { busy, problem, submits } = useSubmit()
  const submit = submits(async ({ name = '' }) => {
    const { options } = await beginPasskey()
    made((await addPasskey({ name, response: await makePasskey(options) })).recoveryCodes)
  })
  return (
    <Dialog title="Add a passkey" close={close}>
      <Form problem={problem} onSubmit={submit}>
        <Field
          label="Name"
          name="name"
          defaultValue={deviceName(navigator.userAgent)}
          hint="To recognise it by in this list."
          maxLength={60}
          required
        />
        <Submit busy={busy} busyText="Waiting for your device…" verb="Continue" cancel={close} />
      </Form>
    </Dialog>
  )
}
