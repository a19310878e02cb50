/**
 * What an account should know before it goes on: an address to verify, credits that run out or expire.
 */
import { useState } from 'preact/hooks'
import { t } from '../language/language.ts'
import type { UsageRow } from '../api/endpoints.ts'
import { getGrants, resend } from '../api/endpoints.ts'
import { Action, Time } from '../parts/basics.tsx'
import { credits, expiryText } from '../parts/format.ts'
import { useSubmit } from '../parts/forms.tsx'
import { GetCredits } from '../parts/get-credits.tsx'
import { LOW_CREDITS } from '../parts/shell.tsx'
import { account, mayManage } from '../state/account.ts'
import { useLoad } from '../state/load.ts'

const DAY_MS = 86_400_000

/** How many days the recent pace of spending is measured over. */
const PACE_DAYS = 7

/** Credits that expire sooner than this are worth a word, in ms. */
const SOON_MS = 14 * DAY_MS

/** A balance for fewer days than this is low. */
const LOW_DAYS = 3

const words = t.overview.notices

/** Where mails are on an installation without a mail server. */
const LocalMails = () =>
  account.value?.localMails ? (
    <>
      {words.localMails((name) => (
        <a href="/dev/mail">{name}</a>
      ))}
    </>
  ) : null

/** Nothing once the address is verified. `why`: what needs that. `#verify`: the first steps lead here. */
export function Unverified({ why = '' }: { why?: string }) {
  const { busy, problem, run } = useSubmit()
  const [outcome, setOutcome] = useState<string | null>(null)
  if (!account.value || account.value.user.emailVerified) return null
  return (
    <div id="verify" class="notice" role="status">
      <span>
        {why && <strong>{why} </strong>}
        {outcome ?? words.unverified(account.value.user.email)}
        <LocalMails />
        {problem && <strong> {problem.sentence}</strong>}
      </span>
      {outcome === null && (
        <Action
          class="small quiet"
          busy={busy}
          busyText={t.words.fields.sending}
          onClick={() => run(async () => setOutcome(words.sent((await resend()).message)))}
        >
          {words.again}
        </Action>
      )}
    </div>
  )
}

/** Credits that are about to run out at the pace of the last days, or to expire. */
export const Running = ({ usage }: { usage: UsageRow[] | undefined }) => (
  <>
    <Low usage={usage} />
    {account.value && mayManage() && <Expiring />}
  </>
)

function Low({ usage = [] }: { usage: UsageRow[] | undefined }) {
  const now = account.value
  const since = new Date(Date.now() - PACE_DAYS * DAY_MS).toISOString().slice(0, 10)
  const spent = usage.filter(({ day }) => day > since).reduce((sum, row) => sum + row.credits, 0)
  // The first steps are for those who have not spent anything yet; the page of credits shows debt.
  if (!now || spent === 0 || now.debt > 0) return null
  const days = Math.floor((now.credits * PACE_DAYS) / spent)
  if (now.credits >= LOW_CREDITS && days >= LOW_DAYS) return null
  return (
    <div class="notice" role="status" data-testid="low">
      <span>
        <strong>{words.low(credits(now.credits))}</strong>
        {words.pace(PACE_DAYS, days)}
      </span>
      <span>
        <GetCredits />
      </span>
    </div>
  )
}

/** Grants are for owner and admins to see. */
function Expiring() {
  const grants = useLoad('grants', getGrants).data?.data ?? []
  const soon = new Date(Date.now() + SOON_MS).toISOString()
  const ending = grants.filter(({ remaining, expiresAt }) => remaining > 0 && expiresAt !== null && expiresAt < soon)
  const [first] = ending.map(({ expiresAt }) => expiresAt!).toSorted()
  if (first === undefined) return null
  const sum = ending.reduce((all, { remaining }) => all + remaining, 0)
  return (
    <div class="notice" role="status" data-testid="expiring">
      <span>
        <strong>{words.expiring(credits(sum))}</strong>
        {words.first(<Time iso={first} text={whenText} />)}
      </span>
      <a href="/credits">{words.grants}</a>
    </div>
  )
}

const whenText = (iso: string): string => words.on(expiryText(iso))
