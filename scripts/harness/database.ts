import { createHash } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import knex from 'knex'
import pg from 'pg'
import * as schema from '../../migrations/index.ts'
import { root } from '../folders.ts'
import { applyCatalogue } from '../../src/shared/operators/catalogue-changes.ts'
import { connectDb } from '../../src/shared/platform/postgres/db.ts'
import type { Db } from '../../src/shared/platform/postgres/db.ts'
import { afterFile } from './after-file.ts'
import { PATIENCE_MS } from './until.ts'
import { ownerLives, processName, testServices } from './services.ts'

/** Brings the database to the newest schema. */
export async function migrate(databaseUrl: string): Promise<void> {
  const db = knex({ client: 'pg', connection: databaseUrl, pool: { min: 0, max: 1 } })
  try {
    await schema.migrate(db)
  } finally {
    await db.destroy()
  }
}

function templateName(): string {
  const hash = createHash('sha256')
  for (const folder of ['migrations', 'sql']) {
    for (const file of readdirSync(join(root, folder)).toSorted())
      hash.update(file).update(readFileSync(join(root, folder, file)))
  }
  return `template_${hash.digest('hex').slice(0, 12)}`
}

function addressOf(maintenanceUrl: string, database: string): string {
  const url = new URL(maintenanceUrl)
  url.pathname = `/${database}`
  return url.href
}

async function withClient<T>(databaseUrl: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

async function exists(client: pg.Client, database: string): Promise<boolean> {
  const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [database])
  return rowCount !== 0
}

// An arbitrary number, the same in every process that makes templates.
const templateLock = 7_604_112

/**
 * Makes the migrated database of which those of the tests are copies, unless there is one for exactly these migrations.
 * Returns its name.
 */
export async function ensureTemplate(maintenanceUrl: string): Promise<string> {
  const name = templateName()
  const draft = `${name}_draft`
  await withClient(maintenanceUrl, async (client) => {
    if (await exists(client, name)) return
    await client.query('SELECT pg_advisory_lock($1)', [templateLock])
    if (await exists(client, name)) return
    await client.query(`DROP DATABASE IF EXISTS ${draft} WITH (FORCE)`)
    await client.query(`CREATE DATABASE ${draft}`)
    await migrate(addressOf(maintenanceUrl, draft))
    // Only a complete one gets the name, even if this process is killed.
    await client.query(`ALTER DATABASE ${draft} RENAME TO ${name}`)
  })
  return name
}

async function sweep(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ datname: string }>(
    `SELECT datname FROM pg_database WHERE datname LIKE 'test\\_%'`,
  )
  for (const { datname } of rows) {
    if (!ownerLives(datname.replace('test_', '').split('-')[0] ?? '')) {
      await client.query(`DROP DATABASE IF EXISTS ${client.escapeIdentifier(datname)} WITH (FORCE)`)
    }
  }
}

/** How long a test's own statement waits for a connection, in ms: a busy machine is not an outage. */
const TEST_ACQUIRE_MS = PATIENCE_MS

/** A pool for the test itself, apart from those of the processes under test. */
export const connectTestDb = (config: Parameters<typeof connectDb>[0]): Db =>
  connectDb(config, { acquireMs: TEST_ACQUIRE_MS, silenceMs: 0 })

/** Makes a catalogue the current version of a database. */
export async function offer(databaseUrl: string, content: object): Promise<void> {
  const db = connectTestDb({ DATABASE_URL: databaseUrl, DATABASE_SSL: 'off', DATABASE_POOL: 2 })
  try {
    await applyCatalogue(db, { content, source: 'command', operator: null, note: null, expect: null })
  } finally {
    await db.destroy()
  }
}

let databases = 0

/** A migrated, empty database for a single test, for tests that would disturb others. A later run removes it. */
export async function newDatabaseUrl(): Promise<string> {
  const { databaseUrl } = await testServices()
  const template = await ensureTemplate(databaseUrl)
  databases += 1
  const name = `test_${processName}-${databases}`
  await withClient(databaseUrl, async (client) => {
    if (databases === 1) await sweep(client)
    await client.query(`CREATE DATABASE ${client.escapeIdentifier(name)} TEMPLATE ${template}`)
  })
  return addressOf(databaseUrl, name)
}

let mine: Promise<string> | undefined

/**
 * The migrated database of the current file of tests, and of no other file: what a file leaves behind, such as an open
 * call, is not found by the next one of its mocha worker.
 */
export function testDatabaseUrl(): Promise<string> {
  mine ??= fileDatabase()
  return mine
}

async function fileDatabase(): Promise<string> {
  const url = await newDatabaseUrl()
  afterFile(async () => {
    mine = undefined
    await drop(new URL(url).pathname.slice(1))
  })
  return url
}

/** Drops a database, unless something is still connected: then a later run removes it. */
async function drop(database: string): Promise<void> {
  const { databaseUrl } = await testServices()
  await withClient(databaseUrl, (client) => client.query(`DROP DATABASE ${client.escapeIdentifier(database)}`)).catch(
    (error: unknown) => {
      if ((error as { code?: string }).code !== IN_USE) throw error
    },
  )
}

/** `object_in_use`. */
const IN_USE = '55006'
