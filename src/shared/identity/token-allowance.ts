/** The rest of the tokens of a minute, of an account and of its key (sql/token_allowance.sql). */

/** `resetSeconds`: until its window ends, in whole seconds; 0 if none has begun. */
export type TokenAllowance = { limit: number; remaining: number; resetSeconds: number }

/** As statements return it: null if there is no limit. */
export type AllowanceColumns = { account_tokens: TokenAllowance | null; key_tokens: TokenAllowance | null }

/** The allowances of an account and its key, as far as they are limited. */
export const allowancesOf = ({ account_tokens, key_tokens }: AllowanceColumns): TokenAllowance[] =>
  [account_tokens, key_tokens].filter((one) => one !== null)

/** The most tokens that one call can have: those of the tightest limit; Infinity without a limit. */
export const mostTokens = (allowances: readonly TokenAllowance[]): number =>
  Math.min(...allowances.map(({ limit }) => limit))

/** The allowance with the least remaining; undefined if there is none. */
export const tightest = (allowances: readonly TokenAllowance[]): TokenAllowance | undefined =>
  allowances.toSorted((a, b) => a.remaining - b.remaining)[0]

/** The columns of an account or a key whose tokens are not limited: they are not counted. */
export const UNCOUNTED_TOKENS = { token_window_at: null, token_window_used: 0 } as const
