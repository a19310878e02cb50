/**
 * The accounts at providers that a user has connected.
 */
import { useState } from 'preact/hooks'
import { t } from '../../language/language.ts'
import type { Identity } from '../../api/providers.ts'
import { beginLink, getIdentities, removeIdentity } from '../../api/providers.ts'
import { Action, ErrorMessage, Loading, Time } from '../../parts/basics.tsx'
import { Confirm } from '../../parts/dialogs.tsx'
import { useSubmit } from '../../parts/forms.tsx'
import { useProviders } from '../../parts/providers.tsx'
import { useLoad } from '../../state/load.ts'
import { keepReturn } from '../../state/provider-return.ts'

const words = t.providers

const nameOf = ({ label, email }: Identity): string => words.name(label ?? words.former, email)

/** Lists, connects and disconnects accounts; nothing where there are no providers. */
export function Identities() {
  const { data: providers } = useProviders()
  const identities = useLoad('identities', getIdentities)
  const [removing, setRemoving] = useState<Identity | null>(null)
  const { busy, problem, run } = useSubmit()
  const connect = (id: string): void =>
    run(async () => {
      const { url } = await beginLink(id)
      keepReturn({ next: '/settings', stay: false })
      location.assign(url)
    })
  if (providers.length === 0 && !identities.data?.data.length) return null
  return (
    <section class="panel">
      <h2>{words.title}</h2>
      <p class="soft">{words.about}</p>
      <ErrorMessage problem={identities.problem ?? problem} retry={identities.reload} />
      {!identities.data && !identities.problem && <Loading rows={2} />}
      <ul class="sessions">
        {identities.data?.data.map((one) => (
          <OneIdentity key={one.id} identity={one} remove={() => setRemoving(one)} />
        ))}
      </ul>
      {providers.map(({ id, label }) => (
        <Action key={id} class="quiet" busy={busy} onClick={() => connect(id)}>
          {words.connectTo(label)}
        </Action>
      ))}
      {removing && (
        <Confirm
          title={words.removeTitle(nameOf(removing))}
          verb={words.disconnect}
          busyText={words.disconnecting}
          danger
          close={() => setRemoving(null)}
          work={async () => {
            await removeIdentity(removing.id)
            identities.reload()
          }}
        >
          {words.removal}
        </Confirm>
      )}
    </section>
  )
}

const OneIdentity = ({ identity, remove }: { identity: Identity; remove: () => void }) => (
  <li>
    <span>
      {nameOf(identity)}
      <br />
      <small class="soft">{words.connectedAt(<Time iso={identity.createdAt} />)}</small>
    </span>
    <button type="button" class="small danger" aria-label={words.removeOne(nameOf(identity))} onClick={remove}>
      {words.disconnect}
    </button>
  </li>
)
