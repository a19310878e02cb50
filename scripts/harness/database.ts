import { createHash } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import knex from 'knex'
import pg from 'pg'
import * as schema from '../../migrations/index.ts'
import { root } from '../folders.ts'
import { connectDb } from '../../src/shared/infra/db.ts'
import type { Db } from '../../src/shared/infra/db.ts'
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

// Of no meaning, but the same in every process that makes templates.
const templateLock = 7_604_112

/**
 * Makes the migrated database that those of the tests are copies of, unless there is one for these very migrations;
 * answers its name.
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
    // Only a finished one has the name, whoever is killed when.
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

/** How long a test's own statement waits for a connection, in ms: a busy machine is no Postgres that is away. */
const TEST_ACQUIRE_MS = 30_000

/** A pool of a test's own, beside those of the processes that it looks at. */
export const connectTestDb = (config: Parameters<typeof connectDb>[0]): Db => connectDb(config, TEST_ACQUIRE_MS)

let databases = 0

/**
 * A migrated, empty database for one test alone, for those that would harm what others see. It is swept away by a later
 * run.
 */
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
 * The database of this mocha worker: migrated, shared by the test files that this process runs, and by no other
 * process.
 */
export function testDatabaseUrl(): Promise<string> {
  mine ??= newDatabaseUrl()
  return mine
}
