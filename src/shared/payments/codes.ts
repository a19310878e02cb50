/**
 * Redemption codes: a code gives credits to a limited number of accounts, once to each account and to each mailbox.
 * Only its SHA-256 is stored.
 */
import { createHash, randomInt } from 'node:crypto'
import type { Membership } from '../identity/members.ts'
import { ApiError } from '../platform/errors.ts'
import type { Db, Trx } from '../platform/postgres/db.ts'
import type { CodeId, UserId } from '../platform/ids.ts'
import { newId, publicId } from '../platform/ids.ts'
import { grant, lockAccount } from '../ledger/ledger.ts'
import { recordAction } from '../action-log/actions.ts'
import { refuseOwnCode } from '../action-log/own-account.ts'
import type { Mailboxes } from '../mail/mailboxes.ts'
import { claimGift } from '../mail/mailboxes.ts'
import { findUser } from '../identity/users.ts'

/** Letters and digits that cannot be confused. */
const ALPHABET = '23456789ABCDEFGHJKMNPQRSTVWXYZ'
const GROUPS = 5
const GROUP = 4

/** A code as operators see it. `hint`: its last four characters. */
export type Code = {
  id: string
  hint: string
  credits: number
  uses: number
  maxUses: number
  expiresAt: string | null
  creditsExpireAt: string | null
  disabledAt: string | null
  note: string | null
  createdAt: string
}

/** A code to create. `credits`: for each account that redeems it. */
export type NewCode = {
  credits: number
  maxUses: number
  expiresAt: Date | null
  creditsExpireAt: Date | null
  note: string | null
}

type CodeRow = {
  id: CodeId
  hint: string
  credits: number
  uses: number
  max_uses: number
  expires_at: Date | null
  grants_expire_at: Date | null
  disabled_at: Date | null
  note: string | null
  created_at: Date
}

const present = (row: CodeRow): Code => ({
  id: publicId('code', row.id),
  hint: row.hint,
  credits: row.credits,
  uses: row.uses,
  maxUses: row.max_uses,
  expiresAt: row.expires_at?.toISOString() ?? null,
  creditsExpireAt: row.grants_expire_at?.toISOString() ?? null,
  disabledAt: row.disabled_at?.toISOString() ?? null,
  note: row.note,
  createdAt: row.created_at.toISOString(),
})

/** Dashes, spaces and the case of letters do not matter. */
const hashOf = (code: string): Buffer =>
  createHash('sha256').update(code.toUpperCase().replaceAll(/[\s-]/g, '')).digest()

const randomGroup = (): string => Array.from({ length: GROUP }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')

/** Creates a code. The code itself is only in this answer. */
export async function createCode(
  db: Db,
  operator: UserId | null,
  wanted: NewCode,
): Promise<{ code: string; made: Code }> {
  const code = Array.from({ length: GROUPS }, randomGroup).join('-')
  const made = await db.transaction(async (trx) => {
    const [row] = await trx('redemption_codes')
      .insert({
        id: newId('code'),
        code_hash: hashOf(code),
        hint: code.slice(-GROUP),
        credits: wanted.credits,
        max_uses: wanted.maxUses,
        expires_at: wanted.expiresAt,
        grants_expire_at: wanted.creditsExpireAt,
        note: wanted.note,
      })
      .returning<CodeRow[]>('*')
    const { id, credits, maxUses } = present(row!)
    await recordAction(trx, operator, 'code_created', null, { code: id, credits, maxUses })
    return present(row!)
  })
  return { code, made }
}

/** The newest codes, newest first. */
export const listCodes = async (db: Db, limit: number): Promise<Code[]> =>
  (await db('redemption_codes').orderBy('id', 'desc').limit(limit).select<CodeRow[]>('*')).map(present)

/** Disables a code permanently. @returns the code; null if there is none. */
export async function disableCode(db: Db, operator: UserId | null, id: CodeId): Promise<Code | null> {
  return db.transaction(async (trx) => {
    const disabled = await trx('redemption_codes')
      .where({ id, disabled_at: null })
      .update({ disabled_at: trx.fn.now() })
    if (disabled === 1) await recordAction(trx, operator, 'code_disabled', null, { code: publicId('code', id) })
    const row = await trx('redemption_codes').where({ id }).first<CodeRow | undefined>('*')
    return row ? present(row) : null
  })
}

/**
 * Redeems a code for an account. @returns its credits, and the balance after it.
 * @param member who redeems it: it is their mailbox that gets the code once.
 * @throws ApiError invalid_code if it is unknown, expired or disabled; code_used if it was used up, or by this
 * account or with this mailbox before, for any account, deleted or not.
 */
export async function redeemCode(
  db: Db,
  mailboxes: Mailboxes,
  { userId, accountId }: Membership,
  code: string,
): Promise<{ credits: number; balance: number }> {
  return db.transaction(async (trx) => {
    await lockAccount(trx, accountId)
    const row = await trx('redemption_codes')
      .where({ code_hash: hashOf(code), disabled_at: null })
      .whereRaw('(expires_at IS NULL OR expires_at > now())')
      .whereRaw('(grants_expire_at IS NULL OR grants_expire_at > now())')
      .first<CodeRow | undefined>('*')
    if (!row) throw new ApiError('invalid_code')
    await refuseOwnCode(trx, accountId, row.id)
    if (await trx('redemptions').where({ code_id: row.id, account_id: accountId }).first('code_id'))
      throw new ApiError('code_used', { message: 'This account has redeemed this code already.' })
    const grantId = newId('grant')
    const { email } = (await findUser(trx, userId))!
    if (!(await claimGift(trx, mailboxes(email), grantId, row.id)))
      throw new ApiError('code_used', { message: 'This code was redeemed with your e-mail address already.' })
    if (!(await use(trx, row.id))) throw new ApiError('code_used')
    const balance = await grant(trx, {
      id: grantId,
      accountId,
      origin: 'bonus',
      amount: row.credits,
      expiresAt: row.grants_expire_at,
      note: 'Redemption code',
    })
    await trx('redemptions').insert({ code_id: row.id, account_id: accountId, grant_id: grantId })
    return { credits: row.credits, balance }
  })
}

/** Counts a use. The row stays locked, so that the next transaction sees whether the use was counted. */
const use = async (trx: Trx, id: CodeId): Promise<boolean> =>
  (await trx('redemption_codes').where({ id }).whereRaw('uses < max_uses').increment('uses', 1)) === 1
