/**
 * After the commit: tells the mail workers to look.
 */
import type { MailId } from '../../shared/ids.ts'
import { publicId } from '../../shared/ids.ts'
import type { WebDeps } from '../deps.ts'

/** Not waited for, and free to fail: the outbox has the mail, and the reconciler finds it without a nudge. */
export function enqueueMail({ queues, log }: Pick<WebDeps, 'queues' | 'log'>, mailId: MailId): void {
  queues
    .enqueueMails([mailId])
    .catch((error: unknown) => log.warn({ mail: publicId('mail', mailId), err: error }, 'mail not enqueued'))
}
