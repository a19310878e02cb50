/**
 * What an operator has still to set up before customers come: shown until all of it is done, or it is dismissed here.
 */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { t } from '../../language/language.ts'
import type { Overview } from '../../api/operator.ts'

const words = t.operator

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

const steps = words.setup

/** A link within a text. */
const to = (href: string) => (name: string) => <a href={href}>{name}</a>

/** `done` null: nobody but the operator knows. */
function stepsOf(setup: Overview['setup']): Step[] {
  const { modelsWithoutUpstream, hasCreditWorth, isPublic, sendsMail, sellsCredits } = setup
  return [
    {
      done: modelsWithoutUpstream.length === 0,
      what: steps.upstreams(to('/help/upstreams/README'), modelsWithoutUpstream.join(', ')),
    },
    {
      done: hasCreditWorth,
      what: steps.worth(to('/operator/catalogue'), <code>creditMicroUsd</code>, to('/help/pricing')),
    },
    {
      done: isPublic,
      what: steps.address(<code>BASE_URL</code>, to('/help/configuration')),
    },
    {
      done: sendsMail,
      what: steps.mails(<code>SMTP_URL</code>, to('/help/accounts-and-mail')),
    },
    {
      done: sellsCredits,
      what: steps.sell(to('/help/payments'), <code>PAYMENTS</code>, to('/operator/codes')),
    },
    {
      done: null,
      what: steps.backup(to('/help/operations#backup-and-restore')),
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
        <h2>{words.before}</h2>
        <button
          type="button"
          class="small quiet"
          onClick={() => {
            dismiss()
            setHidden(true)
          }}
        >
          {words.dismiss}
        </button>
      </div>
      <ol class="steps">
        {steps.map(({ done, what }, nth) => (
          <li key={nth} class={done ? 'done' : ''}>
            <span>
              {what}
              {done && <small class="soft">{t.overview.steps.done}</small>}
            </span>
          </li>
        ))}
      </ol>
    </section>
  )
}
