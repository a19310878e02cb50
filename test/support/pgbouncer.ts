import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { LocalServer } from '../../scripts/services/local-server.ts'
import { postgresUser } from '../../scripts/services/postgres-place.ts'
import { findProgram } from '../../scripts/services/processes.ts'

/** The first release that supports prepared statements in transaction mode. */
const FIRST_GOOD = [1, 21] as const

/** The PgBouncer of this machine (or the one that PGBOUNCER names): its program, or why it cannot be used. */
export function findPgBouncer(): { program: string } | { missing: string } {
  const program =
    process.env['PGBOUNCER'] ?? findProgram('pgbouncer') ?? findProgram('pgbouncer', '/usr/sbin:/usr/local/sbin')
  if (program === undefined) return { missing: 'there is no pgbouncer on this machine' }
  const version = /PgBouncer (\d+)\.(\d+)/.exec(spawnSync(program, ['--version'], { encoding: 'utf8' }).stdout ?? '')
  const [major, minor] = [Number(version?.[1]), Number(version?.[2])]
  if (major > FIRST_GOOD[0] || (major === FIRST_GOOD[0] && minor >= FIRST_GOOD[1])) return { program }
  return {
    missing:
      `pgbouncer ${major}.${minor} is older than ${FIRST_GOOD.join('.')}, ` +
      'which prepared statements need in transaction mode',
  }
}

/** A PgBouncer in transaction mode in front of a Postgres. */
export type PgBouncer = {
  /** The same database, through PgBouncer. */
  through: (databaseUrl: string) => string
  stop: () => Promise<void>
}

/** Starts one with `serverConnections` to each database, whatever its clients open. */
export async function startPgBouncer(
  program: string,
  postgresUrl: string,
  serverConnections: number,
): Promise<PgBouncer> {
  const postgres = new URL(postgresUrl)
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-pgbouncer-'))
  const user = postgresUser()
  const settings = join(folder, 'pgbouncer.ini')
  const own = (path: string, mode: number) => {
    chmodSync(path, mode)
    if (user) chownSync(path, user.uid, user.gid)
  }
  own(folder, 0o700)
  const server = new LocalServer({
    name: 'PgBouncer',
    command: (port) => {
      writeFileSync(settings, settingsOf(postgres, port, serverConnections))
      own(settings, 0o600)
      return [program, settings]
    },
    // Like Postgres it refuses to run as root.
    identity: user && { uid: user.uid, gid: user.gid, cwd: folder },
    log: join(folder, 'pgbouncer.log'),
    firstPort: 0,
    lifetime: 'with-starter',
    stopSignal: 'SIGTERM',
    ready: (port) => answers(at(postgresUrl, port)),
    passing: { portTaken: /Address already in use|cannot listen/i },
  })
  await server.start()
  return {
    through: (databaseUrl) => at(databaseUrl, server.port),
    stop: async () => {
      await server.stopBy('SIGINT')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function at(databaseUrl: string, port: number): string {
  const url = new URL(databaseUrl)
  url.port = String(port)
  return url.href
}

/** What docs/scaling.md tells operators to set, in front of any database of this server. */
function settingsOf(postgres: URL, port: number, serverConnections: number): string {
  return [
    '[databases]',
    `* = host=${postgres.hostname} port=${postgres.port} user=${postgres.username} password=${postgres.password}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    'pool_mode = transaction',
    `default_pool_size = ${serverConnections}`,
    'max_client_conn = 500',
    'max_prepared_statements = 100',
    'ignore_startup_parameters = statement_timeout',
    '',
  ].join('\n')
}

async function answers(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 2000 })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.end()
    return true
  } catch {
    return false
  }
}
