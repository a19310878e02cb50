/**
 * One account, and what an operator can do to it.
 */
import { useState } from 'preact/hooks'
import { t } from '../../language/language.ts'
import type { AccountDetails, OperatedAccount } from '../../api/operator.ts'
import { getAccountDetails, setAccountStatus } from '../../api/operator.ts'
import { AccountName, Empty, ErrorMessage, Fact, Loading, Time } from '../../parts/basics.tsx'
import { CallTable } from '../../parts/call-table.tsx'
import { Confirm } from '../../parts/dialogs.tsx'
import { counted, credits } from '../../parts/format.ts'
import { isOwnAccount } from '../../state/account.ts'
import { buying } from '../../state/billing.ts'
import { useLoad } from '../../state/load.ts'
import { GrantTable } from '../credits/ledger.tsx'
import { GiveCredits, TakeCredits } from './account-credits.tsx'
import { LimitAccount } from './account-limits.tsx'
import { LedgerOf, PaymentsOf, SessionsOf } from './account-support.tsx'
import { Standing } from './accounts.tsx'
import { GroupOf } from './account-group.tsx'
import { KeysOf } from './keys.tsx'
import { ActionTable } from './actions.tsx'

const words = t.accounts

export function AccountSection({ id }: { id: string }) {
  const file = useLoad(`account ${id}`, () => getAccountDetails(id))
  const { data, problem } = file
  if (!data)
    return (
      <section class="panel">
        <ErrorMessage problem={problem} retry={file.reload} />
        {!problem && <Loading rows={10} />}
      </section>
    )
  const { account, debt, actions, grants, calls } = data
  const { email } = account
  return (
    <>
      <ErrorMessage problem={problem} retry={file.reload} />
      <Head file={data} reload={file.reload} />
      <div class="columns">
        <GiveCredits id={id} label={labelOf(account)} done={file.reload} />
        <TakeCredits id={id} label={labelOf(account)} done={file.reload} />
      </div>
      <LimitAccount account={account} done={file.reload} />
      <section class="panel">
        <h2>
          {words.changed}{' '}
          <a class="more" href={`/operator/actions?account=${id}`}>
            {words.includeViews}
          </a>
        </h2>
        {actions.length === 0 ? <Empty title={words.noChange} /> : <ActionTable actions={actions} ofOne />}
      </section>
      <section class="panel">
        <h2>{t.credits.grants}</h2>
        {grants.length === 0 ? <Empty title={t.credits.noCredits} /> : <GrantTable grants={grants} />}
      </section>
      <LedgerOf key={`${account.credits} ${debt}`} id={id} version={`${account.credits} ${debt}`} />
      {buying()?.provider && <PaymentsOf id={id} />}
      <KeysOf accountId={id} changed={file.reload} />
      <SessionsOf id={id} email={email} changed={file.reload} />
      <section class="panel">
        <h2>
          {t.overview.latest}{' '}
          <a class="more" href={`/operator/calls?account=${id}`}>
            {t.overview.allCalls}
          </a>
        </h2>
        {calls.length === 0 ? (
          <Empty title={t.overview.none} />
        ) : (
          <CallTable calls={calls} href={(call) => `/operator/calls/${call}`} />
        )}
      </section>
    </>
  )
}

/** An account in few words, for dialogs. */
const labelOf = ({ name, email }: OperatedAccount): string => name || email

type HeadProps = { file: AccountDetails; reload: () => void }

function Head({ file: { account, groups, importedFrom, held, openCalls, debt }, reload }: HeadProps) {
  const [asking, setAsking] = useState(false)
  const verb = account.status === 'active' ? 'suspend' : 'activate'
  return (
    <section class="panel">
      <div class="row between">
        <h2 class="name">
          <AccountName email={account.email} name={account.name} />
        </h2>
        {!isOwnAccount(account.id) && (
          <button type="button" class={verb === 'suspend' ? 'small danger' : 'small'} onClick={() => setAsking(true)}>
            {verb === 'suspend' ? words.suspend : words.activate}
          </button>
        )}
      </div>
      <dl class="facts">
        <Fact name={t.words.fields.status}>
          <Standing account={account} />
        </Fact>
        <Fact name={t.overview.tiles.balance} testId="account-balance">
          {credits(account.credits)}
        </Fact>
        {debt > 0 && (
          <Fact name={words.debt} testId="account-debt">
            {words.repaid(credits(debt))}
          </Fact>
        )}
        <Fact name={words.held}>
          {held === 0 && openCalls === 0 ? words.nothing : words.heldBy(credits(held), counted(openCalls, 'call'))}
        </Fact>
        <GroupOf account={account} groups={groups} changed={reload} />
        <Fact name={t.frame.name}>{account.name || account.displayName || t.words.fields.none}</Fact>
        <Fact name={t.words.fields.kind}>{account.kind === 'organisation' ? words.organisation : words.personal}</Fact>
        <Fact name={t.members.joined}>
          <Time iso={account.createdAt} />
        </Fact>
        {importedFrom && (
          <Fact name={words.importedFrom} long testId="imported-from">
            {importedFrom.source} <code>{importedFrom.theirId}</code>
          </Fact>
        )}
        <Fact name="ID" long>
          <code>{account.id}</code>
        </Fact>
      </dl>
      {asking && <Ask account={account} verb={verb} close={() => setAsking(false)} done={reload} />}
    </section>
  )
}

type AskProps = { account: OperatedAccount; verb: 'suspend' | 'activate'; close: () => void; done: () => void }

const Ask = ({ account, verb, close, done }: AskProps) => (
  <Confirm
    title={(verb === 'suspend' ? words.suspendTitle : words.activateTitle)(labelOf(account))}
    verb={verb === 'suspend' ? words.suspendAccount : words.activateAccount}
    busyText={t.settings.saving}
    danger={verb === 'suspend'}
    close={close}
    work={async () => {
      await setAccountStatus(account.id, verb)
      done()
    }}
  >
    {verb === 'suspend' ? words.suspension : words.activation}
  </Confirm>
)
