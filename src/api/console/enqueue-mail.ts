/**
 * Enqueues a mail after the commit that wrote it.
 */
import type { MailId } from '../../shared/platform/ids.ts'
import { publicId } from '../../shared/platform/ids.ts'
import type { WebDeps } from '../deps.ts'

/** Not awaited and allowed to fail: the mail is in the outbox, where the reconciler finds it. */
export function enqueueMail({ queues, log }: Pick<WebDeps, 'queues' | 'log'>, mailId: MailId): void {
  queues
    .enqueueMails([mailId])
    .catch((error: unknown) => log.warn({ mail: publicId('mail', mailId), err: error }, 'mail not enqueued'))
}
