/**
 * What the three playgrounds share: the key, the model, the price and the code.
 */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { t } from '../../language/language.ts'
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

const words = t.playground

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
          {words.paid(
            (name) => (
              <a href="/keys">{name}</a>
            ),
            OWN_NAME,
          )}
        </span>
      ) : (
        <span>
          {words.calledWith}
          <code>
            {key.slice(0, 7)}…{key.slice(-4)}
          </code>
        </span>
      )}
      <span class="row">
        {key !== '' && (
          <button type="button" class="small quiet" onClick={() => setPlaygroundKey('')}>
            {words.forget}
          </button>
        )}
        <button type="button" class="small quiet" onClick={() => setAsking(true)}>
          {key === '' ? words.paste : words.anotherKey}
        </button>
      </span>
      {asking && (
        <Dialog title={words.useAKey} close={() => setAsking(false)}>
          <form onSubmit={paste} noValidate>
            <Field
              label={words.apiKey}
              name="secret"
              type="password"
              autoComplete="off"
              required
              autoFocus
              hint={words.keyHint}
            />
            <button type="submit">{words.useKey}</button>
          </form>
        </Dialog>
      )}
    </div>
  )
}

/** What is called and who pays: next to the content, and on a phone one line that opens. */
export const Setup = ({ model, children }: { model: ModelEntry; children: ComponentChildren }) => {
  const key = playgroundKey.value
  const payer = key === '' ? words.balancePays : words.keyPays(key.slice(-4))
  return (
    <Collapsible name={`${model.name ?? model.id} · ${payer}`}>
      {children}
      <KeyBar />
    </Collapsible>
  )
}

type ModelProps = { label?: string; models: ModelEntry[]; model: ModelEntry; choose: (id: string) => void }

/** Which model. */
export function ModelChoice({ label = t.frame.search.model, models, model, choose }: ModelProps) {
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
      {words.ceiling(<strong class="digits">{credits(most)}</strong>, both)}
      <Worth credits={most} />
      {short && (
        <>
          {words.short(number(Math.min(left, balance)), left < balance, both)}
          {left < balance ? words.raise : <GetCredits />}
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
    cost.input_tokens === undefined ? '' : words.tokens(number(cost.input_tokens), number(cost.output_tokens ?? 0))
  return (
    <p class="receipt" data-testid="receipt" role="status">
      {words.cost(<strong class="digits">{credits(cost.credits)}</strong>)}
      <Worth credits={cost.credits} />
      {tokens}
      {cost.latencyMs === undefined ? '' : words.took(duration(cost.latencyMs))}
      {!part && words.balance(number(cost.balance))}
      {callId && (
        <>
          {' '}
          · <a href={`/calls/${callId}`}>{words.itsCall}</a>
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
        {words.asCode}
      </button>
      {open && (
        <Dialog title={words.asCode} close={() => setOpen(false)} wide>
          <CodeSamples example={example} />
        </Dialog>
      )}
    </>
  )
}
