/**
 * How to get credits: bought here, or as an operator states (`CREDITS_HELP_URL`: a sentence or an address).
 */
import { mayManage } from '../state/account.ts'
import { buying } from '../state/billing.ts'

export function GetCredits() {
  if (!mayManage()) return <>Ask the owner or an admin for credits</>
  const now = buying()
  if (!now) return <a href="/credits">Get credits</a>
  if (now.provider !== null) return <a href="/credits">Buy credits</a>
  if (!now.help) return <>Get credits: your operator can grant you some</>
  if (!/^(https?:\/\/|mailto:)\S+$/.test(now.help)) return <>{now.help}</>
  return (
    <a href={now.help} target="_blank" rel="noreferrer">
      Get credits
    </a>
  )
}
