/**
 * What the three playgrounds share: the key, the model, the price and the code.
 */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { ModelEntry } from '../../api/endpoints.ts'
import type { Cost } from '../../api/gateway.ts'
import { Dialog } from '../../parts/dialogs.tsx'
import { GetCredits } from '../../parts/get-credits.tsx'
import { Price, Worth } from '../../parts/worth.tsx'
import { credits, duration, number } from '../../parts/format.ts'
import { Collapsible } from '../../parts/collapsible.tsx'
import { Choice, Field, fieldsOf } from '../../parts/forms.tsx'
import { account } from '../../state/account.ts'
import { useOwnBudget } from '../../state/members.ts'
import { OWN_NAME, playgroundKey, setPlaygroundKey } from '../../state/playground-key.ts'
import { CodeSamples } from '../../parts/samples/code-samples.tsx'
import type { Example } from '../../parts/samples/samples.ts'

/** Which key calls: the playground's own, unless another was pasted, which is stored until the tab is closed. */
function KeyBar() {
  const [asking, setAsking] = useState(false)
  const key = playgroundKey.value
  const paste = (event: Event): void => {
    const { secret = '' } = fieldsOf(event)
    if (secret.trim() === '') return
    setPlaygroundKey(secret.trim())
    setAsking(false)
  }
  return (
    <div class="keybar">
      {key === '' ? (
        <span>
          Paid from your balance, with the <a href="/keys">key</a> “{OWN_NAME}”.
        </span>
      ) : (
        <span>
          Calls with a key that only this tab keeps:{' '}
          <code>
            {key.slice(0, 7)}…{key.slice(-4)}
          </code>
        </span>
      )}
      <span class="row">
        {key !== '' && (
          <button type="button" class="small quiet" onClick={() => setPlaygroundKey('')}>
            Forget
          </button>
        )}
        <button type="button" class="small quiet" onClick={() => setAsking(true)}>
          {key === '' ? 'Paste a key' : 'Use another key'}
        </button>
      </span>
      {asking && (
        <Dialog title="Use a key" close={() => setAsking(false)}>
          <form onSubmit={paste} noValidate>
            <Field
              label="API key"
              name="secret"
              type="password"
              autoComplete="off"
              required
              autoFocus
              hint="It stays in this tab, and is gone when you close it."
            />
            <button type="submit">Use key</button>
          </form>
        </Dialog>
      )}
    </div>
  )
}

/** What is called and who pays: next to the content, and on a phone one line that opens. */
export const Setup = ({ model, children }: { model: ModelEntry; children: ComponentChildren }) => {
  const key = playgroundKey.value
  const payer = key === '' ? 'your balance' : `key …${key.slice(-4)}`
  return (
    <Collapsible name={`${model.name ?? model.id} · ${payer}`}>
      {children}
      <KeyBar />
    </Collapsible>
  )
}

type ModelProps = { label?: string; models: ModelEntry[]; model: ModelEntry; choose: (id: string) => void }

/** Which model. */
export function ModelChoice({ label = 'Model', models, model, choose }: ModelProps) {
  return (
    <>
      <Choice
        label={label}
        value={model.id}
        options={models.map(({ id, name }) => [id, name ?? id] as const)}
        onChange={(event) => choose(event.currentTarget.value)}
      />
      <p class="soft price">
        <Price model={model} />
      </p>
    </>
  )
}

/**
 * What the request would be charged at most, or `both` of two together; where the balance is too low, that it would be
 * refused.
 */
export function Ceiling({ most, both = false }: { most: number; both?: boolean }) {
  const balance = account.value?.credits
  const left = useOwnBudget()?.remaining ?? Infinity
  const short = balance !== undefined && Math.min(balance, left) < most
  return (
    <p class={short ? 'ceiling short' : 'ceiling'} data-testid="ceiling">
      At most <strong class="digits">{credits(most)}</strong>
      {both && ' together'}
      <Worth credits={most} />
      {short && (
        <>
          . {left < balance ? `Your budget has ${number(left)} left` : `You have ${number(balance)}`}, so{' '}
          {both ? 'at least one call' : 'the call'} would be refused.{' '}
          {left < balance ? 'An admin of the organisation can raise it.' : <GetCredits />}
        </>
      )}
    </p>
  )
}

type ReceiptProps = {
  cost: Cost
  callId: string | null
  /** Without the balance: another call may still hold some of it. */
  part?: boolean
}

/** What the call cost in the end. */
export function Receipt({ cost, callId, part = false }: ReceiptProps) {
  const tokens =
    cost.input_tokens === undefined
      ? ''
      : ` · ${number(cost.input_tokens)} tokens in, ${number(cost.output_tokens ?? 0)} out`
  return (
    <p class="receipt" data-testid="receipt" role="status">
      Cost <strong class="digits">{credits(cost.credits)}</strong>
      <Worth credits={cost.credits} />
      {tokens}
      {cost.latencyMs === undefined ? '' : ` · took ${duration(cost.latencyMs)}`}
      {!part && ` · balance ${number(cost.balance)}`}
      {callId && (
        <>
          {' '}
          · <a href={`/calls/${callId}`}>this call</a>
        </>
      )}
    </p>
  )
}

/** The request as code, in a dialog as wide as code needs. */
export function AsCode({ example }: { example: Example }) {
  const [open, setOpen] = useState(false)
  return (
    <>
      <button type="button" class="small quiet" onClick={() => setOpen(true)}>
        As code
      </button>
      {open && (
        <Dialog title="As code" close={() => setOpen(false)} wide>
          <CodeSamples example={example} />
        </Dialog>
      )}
    </>
  )
}
