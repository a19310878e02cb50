import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import type { StripeAccount } from './account.ts'
import { dueSession } from './checkout.ts'
import type { Kept } from './objects.ts'
import type { StripeWorld } from './world.ts'

/** What of an account survives a restart: everything except faults and delivery attempts. */
interface KeptAccount {
  readonly name: string
  readonly livemode: boolean
  readonly objects: Kept[]
  readonly maps: Record<'lineItems' | 'intentData' | 'cards' | 'answers', [string, unknown][]>
  readonly endpoint: StripeAccount['endpoint']
}

const MAPS = ['lineItems', 'intentData', 'cards', 'answers'] as const

/**
 * Takes the accounts from a file, if there is one, and keeps writing them there: a service that has stored its
 * customers must find them again after a restart.
 * @throws an Error if the file cannot be read or is of another kind
 */
export function keepIn(file: string, world: StripeWorld): void {
  for (const kept of readKept(file)) restore(world, kept)
  world.keep(() => write(file, world))
}

function readKept(file: string): KeptAccount[] {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as KeptAccount[]
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

function restore(world: StripeWorld, kept: KeptAccount): void {
  const account = world.account(kept.name, kept.livemode)
  for (const object of kept.objects) account.objects.add(object)
  for (const name of MAPS) {
    const map = account[name] as Map<string, unknown>
    for (const [key, value] of kept.maps[name]) map.set(key, value)
  }
  account.endpoint = kept.endpoint
  for (const session of account.objects.list('checkout.session')) {
    if (session.status !== 'open') continue
    const left = Math.max(0, session.expires_at * 1000 - Date.now())
    account.timers.later(left, () => {
      dueSession(account, session)
    })
  }
}

function write(file: string, world: StripeWorld): void {
  const accounts = world.all().map((account): KeptAccount => {
    const maps = Object.fromEntries(MAPS.map((name) => [name, [...account[name]]])) as KeptAccount['maps']
    const { name, livemode, endpoint } = account
    return { name, livemode, objects: account.objects.all(), maps, endpoint }
  })
  writeFileSync(`${file}.new`, JSON.stringify(accounts), { mode: 0o600 })
  renameSync(`${file}.new`, file)
}
