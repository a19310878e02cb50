/**
 * A log of security events of accounts. Account ids only: no mail addresses, no tokens. The request id leads to the
 * router's own log, which has the client's address.
 */
import type { AccountId } from '../../shared/platform/ids.ts'
import { publicId } from '../../shared/platform/ids.ts'
import type { Log } from '../../shared/platform/process/log.ts'
import type { Trace } from '../../shared/platform/process/trace.ts'

/** What is logged of logins, passwords and sessions. */
export type SecurityEvent =
  | 'registered'
  | 'logged_in'
  | 'login_refused'
  | 'second_factor_asked'
  | 'recovery_code_used'
  | 'totp_added'
  | 'totp_removed'
  | 'passkey_added'
  | 'passkey_removed'
  | 'identity_linked'
  | 'identity_removed'
  | 'proved'
  | 'logged_out'
  | 'session_revoked'
  | 'password_changed'
  | 'password_reset'
  | 'email_verified'
  | 'access_ended'
  | 'address_change_requested'
  | 'address_changed'
  | 'account_deleted'
  | 'account_switched'
  | 'organisation_made'
  | 'owner_changed'
  | 'member_invited'
  | 'invitation_revoked'
  | 'member_joined'
  | 'member_changed'
  | 'member_removed'
  | 'key_made'
  | 'account_claimed'
  | 'key_changed'
  | 'key_rotated'
  | 'key_revoked'
  | 'webhook_made'
  | 'webhook_changed'
  | 'webhook_rotated'
  | 'webhook_deleted'
  | 'callback_secret_shown'

/**
 * Logs one event. `accountId` is null for a login to an unknown address; `refusal`: why it was refused.
 */
export function logSecurity(
  log: Log,
  { requestId }: Trace,
  event: SecurityEvent,
  accountId: AccountId | null,
  refusal?: string,
): void {
  log.info(
    {
      event,
      requestId,
      ...(accountId && { account: publicId('account', accountId) }),
      ...(refusal && { refusal }),
    },
    'security',
  )
}
