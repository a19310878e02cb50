/**
 * How to get credits: bought here, or as an operator states (`CREDITS_HELP_URL`: a sentence or an address).
 */
import { t } from '../language/language.ts'
import { mayManage } from '../state/account.ts'
import { buying } from '../state/billing.ts'

const words = t.overview.getCredits

export function GetCredits() {
  if (!mayManage()) return <>{words.askManagers}</>
  const now = buying()
  if (!now) return <a href="/credits">{words.get}</a>
  if (now.provider !== null) return <a href="/credits">{words.buy}</a>
  if (!now.help) return <>{words.askOperator}</>
  if (!/^(https?:\/\/|mailto:)\S+$/.test(now.help)) return <>{now.help}</>
  return (
    <a href={now.help} target="_blank" rel="noreferrer">
      {words.get}
    </a>
  )
}
