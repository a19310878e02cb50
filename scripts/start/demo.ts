import { randomBytes, randomInt } from 'node:crypto'
import { join } from 'node:path'
import { readIfThere, writePrivately } from '../services/secrets.ts'
import { AdminError, admin } from './admin.ts'

const email = 'demo@tollgate.local'
const firstCredits = 10_000

/** The demo account. */
export type Demo = {
  email: string
  /** Unknown when the account was made from another data folder than this one. */
  password: string | undefined
  key: string
  /** Its current balance. */
  credits: number
}

/** What the data folder has of it. It is written after each step, so that the next start continues a killed one. */
type Kept = { password?: string; granted?: boolean; operates?: boolean; key?: string }

type Account = { credits: number }

async function find(env: NodeJS.ProcessEnv): Promise<Account | undefined> {
  try {
    return await admin<Account>(env, 'account', 'show', email)
  } catch (error) {
    if (error instanceof AdminError) return undefined
    throw error
  }
}

/**
 * The demo account, a verified operator with credits and an API key. The first start makes it; later ones find it in
 * its current state.
 * `accepts` checks whether a key works. Throws an AdminError with the output of the command that failed.
 */
export async function demoAccount(
  folder: string,
  env: NodeJS.ProcessEnv,
  accepts: (key: string) => Promise<boolean>,
): Promise<Demo> {
  const file = join(folder, 'demo.json')
  let kept = JSON.parse(readIfThere(file) ?? '{}') as Kept
  const keep = (more: Kept): void => {
    kept = { ...kept, ...more }
    writePrivately(file, JSON.stringify(kept))
  }
  let account = await find(env)
  if (account === undefined) {
    // Written before it is used: a password that only the database has is of no use.
    const password = kept.password ?? `demo-${randomInt(1000, 10_000)}-${randomBytes(6).toString('hex')}`
    keep({ password, granted: false })
    account = await admin<Account>(env, 'account', 'create', email, password, '--verified')
  }
  if (kept.granted === false && account.credits === 0) {
    await admin(env, 'credits', 'grant', email, String(firstCredits), '--origin', 'bonus', '--note', 'npm start')
    account = { credits: firstCredits }
  }
  keep({ granted: true })
  if (!kept.operates) {
    // Once: who takes the role away has a reason.
    await admin(env, 'account', 'role', email, 'admin')
    keep({ operates: true })
  }
  if (kept.key === undefined || !(await accepts(kept.key))) {
    const { secret } = await admin<{ secret: string }>(env, 'key', 'create', email, 'npm start')
    keep({ key: secret })
  }
  return { email, password: kept.password, key: kept.key ?? '', credits: account.credits }
}
