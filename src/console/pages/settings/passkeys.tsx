/**
 * The passkeys of a user: with one they sign in without a password.
 */
import { useState } from 'preact/hooks'
import { t } from '../../language/language.ts'
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

const words = t.settings.passkeys

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
      <h2>{words.title}</h2>
      <p class="soft">{words.about}</p>
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
          {words.add}
        </button>
      ) : (
        <p class="soft">{words.unsupported}</p>
      )}
      {isAdding && <AddPasskey close={() => setAdding(false)} made={made} />}
      {codes && <RecoveryCodes codes={codes} close={seen} />}
      {removing && (
        <Confirm
          title={words.removeTitle(removing.name)}
          verb={t.words.fields.remove}
          busyText={t.settings.removing}
          danger
          close={() => setRemoving(null)}
          work={async () => {
            await removePasskey(removing.id)
            passkeys.reload()
          }}
        >
          {words.removal}
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
        <small class="soft">{words.used(<Time iso={createdAt} />, lastUsedAt && <Time iso={lastUsedAt} />)}</small>
      </span>
      <button type="button" class="small quiet" aria-label={words.renameOne(name)} onClick={() => setRenaming(true)}>
        {words.rename}
      </button>
      <button type="button" class="small danger" aria-label={words.removeOne(name)} onClick={remove}>
        {t.words.fields.remove}
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
    <Dialog title={words.renameTitle} close={close}>
      <Form problem={problem} onSubmit={submit}>
        <Field label={t.settings.name} name="name" defaultValue={passkey.name} maxLength={60} required />
        <Submit busy={busy} busyText={t.settings.saving} verb={t.settings.save} cancel={close} />
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
    <Dialog title={words.add} close={close}>
      <Form problem={problem} onSubmit={submit}>
        <Field
          label={t.settings.name}
          name="name"
          defaultValue={deviceName(navigator.userAgent)}
          hint={words.nameHint}
          maxLength={60}
          required
        />
        <Submit busy={busy} busyText={words.waiting} verb={t.entrance.continue} cancel={close} />
      </Form>
    </Dialog>
  )
}
