/**
 * One account, and what an operator can do to it.
 */
import { useRef, useState } from 'preact/hooks'
import type { AccountDetails, GrantFields, OperatedAccount } from '../../api/operator.ts'
import { getAccountDetails, giveCredits, setAccountStatus } from '../../api/operator.ts'
import { Action, Empty, Time, ErrorMessage, Loading } from '../../parts/basics.tsx'
import { CallTable } from '../../parts/call-table.tsx'
import { Dialog } from '../../parts/dialogs.tsx'
import { credits, number } from '../../parts/format.ts'
import { Choice, Field, Form, FormError, fieldsOf, useSubmit } from '../../parts/forms.tsx'
import { account as own } from '../../state/account.ts'
import { useLoad } from '../../state/load.ts'
import { GrantTable } from '../credits/ledger.tsx'
import { Standing } from './accounts.tsx'
import { ActionTable } from './reports.tsx'

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
  return (
    <>
      <ErrorMessage problem={problem} retry={file.reload} />
      <Head file={data} reload={file.reload} />
      <div class="columns">
        <GiveCredits id={id} email={data.account.email} done={file.reload} />
        <section class="panel">
          <h2>Audit</h2>
          {data.actions.length === 0 ? (
            <Empty title="No operator has changed this account yet" />
          ) : (
            <ActionTable actions={data.actions} />
          )}
        </section>
      </div>
      <section class="panel">
        <h2>Grants</h2>
        {data.grants.length === 0 ? <Empty title="No credits yet" /> : <GrantTable grants={data.grants} />}
      </section>
      <section class="panel">
        <h2>Latest calls</h2>
        {data.calls.length === 0 ? (
          <Empty title="No calls yet" />
        ) : (
          <CallTable calls={data.calls} href={(call) => `/operator/calls/${call}`} />
        )}
      </section>
    </>
  )
}

function Head({ file: { account, held, openCalls, debt }, reload }: { file: AccountDetails; reload: () => void }) {
  const [asking, setAsking] = useState(false)
  const verb = account.status === 'active' ? 'suspend' : 'activate'
  return (
    <section class="panel">
      <div class="row between">
        <h2 class="name">{account.email}</h2>
        {account.id !== own.value?.user.id && (
          <button type="button" class={verb === 'suspend' ? 'small danger' : 'small'} onClick={() => setAsking(true)}>
            {verb === 'suspend' ? 'Suspend' : 'Activate'}
          </button>
        )}
      </div>
      <dl class="facts">
        <div>
          <dt>Status</dt>
          <dd>
            <Standing account={account} />
          </dd>
        </div>
        <div>
          <dt>Balance</dt>
          <dd data-testid="account-balance">{credits(account.credits)}</dd>
        </div>
        {debt > 0 && (
          <div>
            <dt>Debt</dt>
            <dd data-testid="account-debt">{credits(debt)}, repaid by the next grant</dd>
          </div>
        )}
        <div>
          <dt>Held</dt>
          <dd>
            {number(held)} by {number(openCalls)} running
          </dd>
        </div>
        <div>
          <dt>Name</dt>
          <dd>{account.displayName || 'none'}</dd>
        </div>
        <div>
          <dt>Since</dt>
          <dd>
            <Time iso={account.createdAt} />
          </dd>
        </div>
        <div>
          <dt>Id</dt>
          <dd>
            <code>{account.id}</code>
          </dd>
        </div>
      </dl>
      {asking && <Ask account={account} verb={verb} close={() => setAsking(false)} done={reload} />}
    </section>
  )
}

type AskProps = { account: OperatedAccount; verb: 'suspend' | 'activate'; close: () => void; done: () => void }

/** Asks before it does it. */
function Ask({ account, verb, close, done }: AskProps) {
  const { busy, problem, run } = useSubmit()
  const change = (): void =>
    run(async () => {
      await setAccountStatus(account.id, verb)
      close()
      done()
    })
  return (
    <Dialog title={verb === 'suspend' ? `Suspend ${account.email}?` : `Activate ${account.email}?`} close={close}>
      <p>
        {verb === 'suspend'
          ? 'Its sessions end now and its keys are refused. Calls in progress will finish. You can activate it again.'
          : 'It can sign in and make calls again.'}
      </p>
      <ErrorMessage problem={problem} />
      <div class="row">
        <Action class={verb === 'suspend' ? 'danger' : ''} busy={busy} busyText="Saving…" onClick={change}>
          {verb === 'suspend' ? 'Suspend account' : 'Activate account'}
        </Action>
        <button type="button" class="quiet" onClick={close}>
          Cancel
        </button>
      </div>
    </Dialog>
  )
}

const ORIGINS = [
  ['purchase', 'Purchase'],
  ['bonus', 'Bonus'],
  ['adjustment', 'Adjustment'],
] as const

function GiveCredits({ id, email, done }: { id: string; email: string; done: () => void }) {
  const { busy, problem, run } = useSubmit()
  const [said, setSaid] = useState<string | null>(null)
  const form = useRef<HTMLFormElement>(null)
  const submit = (event: Event): void => {
    const { amount = '', origin = '', note = '', expiresAt = '' } = fieldsOf(event)
    setSaid(null)
    run(async () => {
      const answer = await giveCredits(id, {
        amount: Number(amount),
        origin: origin as GrantFields['origin'],
        ...(note && { note }),
        ...(expiresAt && { expiresAt }),
      })
      setSaid(`Granted. The balance of ${email} is ${credits(answer.credits)}.`)
      form.current?.reset()
      done()
    })
  }
  return (
    <section class="panel">
      <h2>Grant credits</h2>
      <Form form={form} problem={problem} onSubmit={submit}>
        <Field label="Amount" name="amount" type="number" min={1} step={1} required />
        <Choice label="Origin" name="origin" options={ORIGINS} />
        <Field label="Note" name="note" maxLength={200} hint="The reason. The customer sees it in the ledger." />
        <Field label="Expires (optional, UTC)" name="expiresAt" type="date" />
        <FormError />
        <Action type="submit" busy={busy} busyText="Granting…">
          Grant
        </Action>
        <p class="done" role="status">
          {said}
        </p>
      </Form>
    </section>
  )
}
