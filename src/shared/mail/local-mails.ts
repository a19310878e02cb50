/** Mails that reach nobody, because there is no mail server: lines of MAIL_FILE, for who works on this machine. */
import { open } from 'node:fs/promises'
import { LOOPBACK_HOST } from '../platform/net/loopback.ts'
import type { Config } from '../platform/config/config.ts'

/** A mail as MAIL_FILE has it. */
export type LocalMail = { date: string; to: string; subject: string; text: string }

/** How much of the end of the file is read, in bytes, and how many mails are shown. */
const READ_BYTES = 512 * 1024
const SHOWN = 50

/** Whether mails are written to a file, and the service is only for this machine. */
export const hasLocalMails = ({ SMTP_URL, BASE_URL }: Pick<Config, 'SMTP_URL' | 'BASE_URL'>): boolean =>
  SMTP_URL === undefined && LOOPBACK_HOST.test(new URL(BASE_URL).hostname)

/** The newest mails of the file, the newest first; none if there is no file. */
export async function readLocalMails(path: string): Promise<LocalMail[]> {
  const lines = (await endOf(path)).split('\n')
  const mails = lines.flatMap((line) => {
    const mail = mailOf(line)
    return mail ? [mail] : []
  })
  return mails.slice(-SHOWN).reverse()
}

async function endOf(path: string): Promise<string> {
  const file = await open(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (!file) return ''
  try {
    const { size } = await file.stat()
    const length = Math.min(size, READ_BYTES)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await file.close()
  }
}

/** The mail of a line; null for a line that was cut, or is still being written. */
function mailOf(line: string): LocalMail | null {
  try {
    const { date, to, subject, text } = JSON.parse(line) as Record<string, unknown>
    return { date: String(date), to: String(to), subject: String(subject), text: String(text) }
  } catch {
    return null
  }
}
