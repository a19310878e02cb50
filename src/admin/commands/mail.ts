/** mail list · retry · discard */
import { parseId } from '../../shared/platform/ids.ts'
import type { MailRecord } from '../../shared/mail/mails.ts'
import { listMails } from '../../shared/mail/mails.ts'
import { discardDeadMails, requeueDeadMails } from '../../shared/operators/changes.ts'
import type { Command } from '../command.ts'
import { CommandError } from '../command.ts'
import { rowOf } from '../fields.ts'

/** The most mails that are listed. */
const LISTED = 200

const describe = (mail: MailRecord): string =>
  rowOf(
    mail.id,
    mail.createdAt,
    mail.kind,
    mail.status,
    mail.tries === 1 ? '1 try' : `${mail.tries} tries`,
    mail.recipient,
    mail.note ?? '',
  )

/** Dead mails, and retrying them. */
export const mailCommands: Command[] = [
  {
    usage: 'mail list [--all]',
    summary:
      'List the dead letters (e-mails that could not be delivered), newest first. ' +
      `With --all, the newest ${LISTED} e-mails in any state.`,
    flags: ['all'],
    run: async (db, _args, { all }) => {
      const mails = await listMails(db, all ? ['queued', 'sending', 'sent', 'skipped', 'dead'] : ['dead'], LISTED)
      return {
        json: { mails },
        text: mails.length === 0 ? (all ? 'No e-mails.' : 'No dead letters.') : mails.map(describe).join('\n'),
      }
    },
  },
  {
    usage: 'mail retry <id>|all',
    summary:
      'Retry a dead letter, or all of them, with a full set of attempts. ' +
      'The workers send it within seconds, with the same link.',
    run: async (db, [text = '']) => {
      const id = text === 'all' ? text : parseId('mail', text)
      const revived = id ? await requeueDeadMails(db, null, id) : 0
      if (revived === 0 && id !== 'all') throw new CommandError(`There is no dead letter ${text}.`)
      return { json: { revived }, text: `${revived} queued for sending.` }
    },
  },
  {
    usage: 'mail discard <id>|all',
    summary: 'Give up on a dead letter, or on all of them, for good.',
    run: async (db, [text = '']) => {
      const id = text === 'all' ? text : parseId('mail', text)
      const discarded = id ? await discardDeadMails(db, null, id) : 0
      if (discarded === 0 && id !== 'all') throw new CommandError(`There is no dead letter ${text}.`)
      return { json: { discarded }, text: `${discarded} discarded.` }
    },
  },
]
