/**
 * What an operator has still to set up before customers come: shown until all of it is done, or it is dismissed here.
 */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Overview } from '../../api/operator.ts'

const PLACE = 'tollgate.setup-dismissed'

function isDismissed(): boolean {
  try {
    return localStorage.getItem(PLACE) !== null
  } catch {
    return false
  }
}

function dismiss(): void {
  try {
    localStorage.setItem(PLACE, 'yes')
  } catch {
    // A browser that keeps nothing shows it again.
  }
}

type Step = { done: boolean | null; what: ComponentChildren }

/** `done` null: nobody but the operator knows. */
function stepsOf(setup: Overview['setup']): Step[] {
  const { modelsWithoutUpstream, hasCreditWorth, isPublic, sendsMail, sellsCredits } = setup
  return [
    {
      done: modelsWithoutUpstream.length === 0,
      what: (
        <>
          Give <a href="/help/upstreams/README">upstreams</a> their keys
          {modelsWithoutUpstream.length > 0 && `: nothing serves ${modelsWithoutUpstream.join(', ')}`}
        </>
      ),
    },
    {
      done: hasCreditWorth,
      what: (
        <>
          State what a credit is worth in the <a href="/operator/catalogue">catalogue</a> (<code>creditMicroUsd</code>),
          and what upstreams cost, to see <a href="/help/pricing">margins</a>
        </>
      ),
    },
    {
      done: isPublic,
      what: (
        <>
          Set <code>BASE_URL</code> to the <a href="/help/configuration">public address</a>: links in mails lead there
        </>
      ),
    },
    {
      done: sendsMail,
      what: (
        <>
          Set <code>SMTP_URL</code>, so that <a href="/help/accounts-and-mail">mails</a> are sent
        </>
      ),
    },
    {
      done: sellsCredits,
      what: (
        <>
          Sell credits with <a href="/help/payments">Stripe</a> (<code>PAYMENTS</code>), or give them away with{' '}
          <a href="/operator/codes">codes</a>
        </>
      ),
    },
    {
      done: null,
      what: (
        <>
          Back up Postgres: <a href="/help/operations#backup-and-restore">how</a>
        </>
      ),
    },
  ]
}

export function Setup({ setup }: { setup: Overview['setup'] }) {
  const [hidden, setHidden] = useState(isDismissed)
  const steps = stepsOf(setup)
  if (hidden || steps.every(({ done }) => done !== false)) return null
  return (
    <section class="panel" data-testid="setup">
      <div class="row between">
        <h2>Before customers come</h2>
        <button
          type="button"
          class="small quiet"
          onClick={() => {
            dismiss()
            setHidden(true)
          }}
        >
          Dismiss
        </button>
      </div>
      <ol class="steps">
        {steps.map(({ done, what }, nth) => (
          <li key={nth} class={done ? 'done' : ''}>
            <span>
              {what}
              {done && <small class="soft"> · done</small>}
            </span>
          </li>
        ))}
      </ol>
    </section>
  )
}
