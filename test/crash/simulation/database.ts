import pg from 'pg'
import { connectTestDb, newDatabaseUrl } from '../../../scripts/harness/database.ts'
import type { Db } from '../../../src/shared/platform/postgres/db.ts'
import { GROUP } from './simulation.ts'

/**
 * A database of random schedules, of its own. `cleanupDb` is a pool that only empties it: a connection loses its cached
 * plans when its role changes.
 */
export type ScheduleDatabase = { db: Db; cleanupDb: Db; close: () => Promise<void> }

/** Nobody kills this Postgres: what it says is committed need not be in a file. */
const SETTINGS = '-c synchronous_commit=off -c plan_cache_mode=force_generic_plan'

/** What can be prepared, and is worth it. */
const PREPARABLE = /^\s*(SELECT|INSERT|UPDATE|DELETE|WITH|\()/i

const names = new Map<string, string>()

/** The name under which each connection prepares a statement. */
function nameOf(text: string): string {
  const name = names.get(text) ?? `schedule_${names.size}`
  names.set(text, name)
  return name
}

/**
 * Has a connection prepare every statement: a few hundred are sent millions of times, and Postgres takes longer to plan
 * most of them than to run them.
 */
function prepareAll(connection: pg.Client): void {
  const send = connection.query.bind(connection) as (...given: unknown[]) => unknown
  const prepared = (what: string | pg.QueryConfig, ...rest: unknown[]): unknown => {
    const { text, values, name }: pg.QueryConfig = typeof what === 'string' ? { text: what } : what
    if (name !== undefined || !PREPARABLE.test(text)) return send(what, ...rest)
    // Made of its parts: the driver copies a whole configuration, property by property.
    return send(Object.assign(new pg.Query(text, values), { name: nameOf(text) }), ...rest)
  }
  Object.assign(connection, { query: prepared })
}

/** The address of a database by its server's Unix socket, if it has one: a message there costs half of one by TCP. */
async function bySocket(address: string): Promise<URL> {
  const url = new URL(address)
  const client = new pg.Client({ connectionString: address })
  await client.connect()
  try {
    const { rows } = await client.query<{ folder: string }>(
      "SELECT current_setting('unix_socket_directories') AS folder",
    )
    if (rows[0]!.folder !== '') url.searchParams.set('host', rows[0]!.folder)
    return url
  } finally {
    await client.end()
  }
}

/** More versions of the catalogue than a schedule makes. */
const VERSIONS = 100

/** Makes one, migrated and empty but for versions of the catalogue, of which the audit reads the groups. */
export async function openScheduleDatabase(): Promise<ScheduleDatabase> {
  const url = await bySocket(await newDatabaseUrl())
  url.searchParams.set('options', SETTINGS)
  const own = { DATABASE_URL: url.href, DATABASE_SSL: 'off' } as const
  const db = connectTestDb({ ...own, DATABASE_POOL: 8 })
  const { pool } = db.client as {
    pool: { on: (event: 'createSuccess', listener: (id: number, connection: pg.Client) => void) => void }
  }
  pool.on('createSuccess', (_id, connection) => prepareAll(connection))
  const cleanupDb = connectTestDb({ ...own, DATABASE_POOL: 1 })
  const { name, ...group } = GROUP
  await cleanupDb.raw(
    `
    INSERT INTO catalogue_versions (version, content, hash, source)
    SELECT version, ?::json, sha256(version::text::bytea), 'command' FROM generate_series(1, ?) version`,
    [JSON.stringify({ groups: { [name]: group } }), VERSIONS],
  )
  return { db, cleanupDb, close: async () => void (await Promise.all([db.destroy(), cleanupDb.destroy()])) }
}
