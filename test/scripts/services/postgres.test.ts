import { expect } from 'chai'
import { readFileSync, statSync, writeFileSync, mkdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import type { Postgres } from '../../../scripts/services/postgres.ts'
import { lives } from '../../../scripts/services/processes.ts'
import { privateFolder, startPrivatePostgres } from '../../../scripts/harness/services.ts'

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<Record<string, unknown>>(sql)
    return rows.map((row) => Object.values(row)[0])
  } finally {
    await client.end()
  }
}

describe('an embedded Postgres', () => {
  const folder = privateFolder()
  let postgres: Postgres

  before(async () => {
    postgres = await startPrivatePostgres({ folder })
    await query(postgres.url, "CREATE TABLE kept AS SELECT 'yes' AS word")
  })

  after(async () => {
    await postgres.stop('immediate')
  })

  it('uses UTF8, locale C and UTC, and listens only on loopback', async () => {
    expect(await query(postgres.url, 'SHOW server_encoding')).to.deep.equal(['UTF8'])
    expect(await query(postgres.url, 'SELECT datcollate FROM pg_database')).to.include('C')
    expect(await query(postgres.url, 'SHOW listen_addresses')).to.deep.equal(['127.0.0.1'])
    expect(await query(postgres.url, 'SHOW timezone')).to.deep.equal(['UTC'])
  })

  it('requires its password, which only its owner can read', async () => {
    const wrong = new URL(postgres.url)
    wrong.password = 'wrong'
    const refusal = await query(wrong.href, 'SELECT 1').catch((error: unknown) => error)
    expect(refusal).to.be.an('error').with.property('code', '28P01')
    expect(statSync(join(folder, 'postgres-password')).mode & 0o777).to.equal(0o600)
  })

  it('keeps its data and its port after every kind of stop', async () => {
    const { port } = postgres
    for (const mode of ['smart', 'fast', 'immediate', 'kill'] as const) {
      const server = postgres.process
      if (mode === 'kill') await postgres.kill()
      else await postgres.stop(mode)
      expect(lives(server), mode).to.equal(false)
      expect(postgres.runs, mode).to.equal(false)
      await postgres.start()
      expect(postgres.port, mode).to.equal(port)
      expect(await query(postgres.url, 'SELECT word FROM kept'), mode).to.deep.equal(['yes'])
    }
  })

  it('is found and stopped by the next start over the same data', async () => {
    const left = postgres
    const server = left.process
    postgres = await startPrivatePostgres({ folder })
    expect(lives(server)).to.equal(false)
    expect(await query(postgres.url, 'SELECT word FROM kept')).to.deep.equal(['yes'])
  })

  it('never mistakes another process for its own, whatever a stale pid file says', async () => {
    const file = join(postgres.data, 'postmaster.pid')
    const text = readFileSync(file, 'utf8')
    await postgres.stop()
    // This process is alive, but not a Postgres.
    writeFileSync(file, text.replace(/^\d+/, String(process.pid)))
    postgres = await startPrivatePostgres({ folder })
    expect(await query(postgres.url, 'SELECT word FROM kept')).to.deep.equal(['yes'])
  })

  it('keeps the password of existing data', async () => {
    await postgres.stop()
    const file = join(folder, 'postgres-password')
    renameSync(file, `${file}.away`)
    const refusal = await startPrivatePostgres({ folder }).catch((error: unknown) => error)
    renameSync(`${file}.away`, file)
    expect(refusal).to.be.an('error').with.property('message').that.includes('postgres-password is missing')
    await postgres.start()
  })

  it('reports data of another version', async () => {
    await postgres.stop()
    const file = join(postgres.data, 'PG_VERSION')
    const version = readFileSync(file, 'utf8')
    writeFileSync(file, '9\n')
    const refusal = await startPrivatePostgres({ folder }).catch((error: unknown) => error)
    writeFileSync(file, version)
    expect(refusal).to.be.an('error').with.property('message').that.includes('holds data of Postgres 9')
    await postgres.start()
  })

  it('starts over after a first start that was killed', async () => {
    const half = privateFolder()
    mkdirSync(join(half, 'postgres', 'data.new', 'base'), { recursive: true })
    writeFileSync(join(half, 'postgres', 'data.new', 'PG_VERSION'), '18\n')
    const fresh = await startPrivatePostgres({ folder: half })
    try {
      expect(await query(fresh.url, 'SELECT current_database()')).to.deep.equal(['tollgate'])
    } finally {
      await fresh.stop('immediate')
    }
  })
})
