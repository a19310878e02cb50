import { expect } from 'chai'
import type { Reply } from '../../../../scripts/harness/http.ts'
import type { UserId } from '../../../../src/shared/platform/ids.ts'
import { codeAt } from '../../../../src/shared/sign-in/totp.ts'
import type { TestConsole } from '../../../support/console.ts'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

function bytesOf(base32: string): Buffer {
  const bits = Array.from(base32, (letter) => ALPHABET.indexOf(letter).toString(2).padStart(5, '0')).join('')
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
}

/** An authenticator app: the code of the current step, or of one `later`. */
export const appOf =
  (secret: string) =>
  (later = 0): string =>
    codeAt(bytesOf(secret), Math.floor(Date.now() / 30_000) + later)

/** The changes of how a user signs in that they were mailed, oldest first. */
export const changesMailedTo =
  (web: Pick<TestConsole, 'db'>) =>
  async (userId: UserId): Promise<string[]> => {
    const mails = web.db('mails').where({ user_id: userId, kind: 'sign_in_changed' }).orderBy('id')
    return (await mails).map((mail: { details: { change: string } }) => mail.details.change)
  }

/** A session whose login is longer ago than a proof holds. */
export const aged = ({ db }: Pick<TestConsole, 'db'>) => ({
  created_at: db.raw(`now() - interval '16 minutes'`),
  expires_at: db.raw(`now() + interval '1 hour'`),
})

type Ask = (method: string, path: string, body?: unknown) => Promise<Reply>

/** Adds an authenticator app: its codes, and the recovery codes. The code of this step is spent. */
export async function addApp(me: Ask) {
  const { secret, uri } = (await me('POST', '/api/auth/totp', {})).json
  expect(new URL(uri as string).searchParams.get('secret')).to.equal(secret)
  const app = appOf(secret as string)
  const confirmed = await me('POST', '/api/auth/totp/confirm', { code: app() })
  expect([confirmed.status, confirmed.json.recoveryCodes?.length]).to.deep.equal([200, 10])
  return { app, recoveryCodes: confirmed.json.recoveryCodes as string[] }
}

/** The cookie that an answer sets, as a browser sends it back. */
export const cookieOf = ({ headers }: Reply): string => (headers.get('set-cookie') ?? '').split(';')[0]!
