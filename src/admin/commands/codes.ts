/** codes create · list · disable, debt forgive */
import { parseId } from '../../shared/platform/ids.ts'
import type { Code } from '../../shared/payments/codes.ts'
import { createCode, disableCode, listCodes } from '../../shared/payments/codes.ts'
import { forgive } from '../../shared/payments/debts.ts'
import type { Command } from '../command.ts'
import { CommandError, accountOf } from '../command.ts'
import { creditsOf, futureOf, noteOf, rowOf, wholeNumberOf } from '../fields.ts'

/** The most codes that are listed. */
const LISTED = 200

const MAX_USES = 1_000_000

const describe = (code: Code): string =>
  rowOf(
    code.id,
    code.createdAt,
    `…${code.hint}`,
    code.credits === 1 ? '1 credit' : `${code.credits} credits`,
    `${code.uses} of ${code.maxUses} used`,
    code.disabledAt ? 'disabled' : code.expiresAt ? `expires ${code.expiresAt}` : '',
  )

/** Redemption codes. */
export const codeCommands: Command[] = [
  {
    usage: 'codes create --credits N [--uses M] [--expires <ISO>] [--credits-expire <ISO>] [--note …]',
    summary:
      'Create a redemption code that M accounts (default: 1) can redeem, and print it, once. ' +
      '--expires is for the code, --credits-expire for its credits.',
    options: ['credits', 'uses', 'expires', 'credits-expire', 'note'],
    run: async (db, _args, options) => {
      const { credits, uses = '1', expires, 'credits-expire': creditsExpire } = options
      if (credits === undefined) throw new CommandError('Say with --credits how many credits the code gives.')
      const { code, made } = await createCode(db, null, {
        credits: creditsOf('--credits', credits),
        maxUses: wholeNumberOf('--uses', uses, [1, MAX_USES]),
        expiresAt: expires === undefined ? null : futureOf('--expires', expires),
        creditsExpireAt: creditsExpire === undefined ? null : futureOf('--credits-expire', creditsExpire),
        note: noteOf(options),
      })
      return { json: { id: made.id, code }, text: code }
    },
  },
  {
    usage: 'codes list',
    summary: `List the newest ${LISTED} redemption codes.`,
    run: async (db) => {
      const codes = await listCodes(db, LISTED)
      return { json: { codes }, text: codes.length === 0 ? 'No codes found.' : codes.map(describe).join('\n') }
    },
  },
  {
    usage: 'codes disable <id>',
    summary: 'Disable a redemption code permanently.',
    run: async (db, [text = '']) => {
      const id = parseId('code', text)
      const code = id && (await disableCode(db, null, id))
      if (!code) throw new CommandError(`There is no code ${text}.`)
      return { json: { ...code }, text: describe(code) }
    },
  },
  {
    usage: 'debt forgive <email>',
    summary: 'Forgive the debt of an account, so that it can spend again.',
    run: async (db, [email]) => {
      const user = await accountOf(db, email)
      const forgiven = await forgive(db, null, user.account_id)
      return { json: { forgiven }, text: `${forgiven} credits of debt forgiven.` }
    },
  },
]
