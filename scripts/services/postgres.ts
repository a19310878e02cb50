import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import pg from 'pg'
import { LocalServer } from './local-server.ts'
import type { Lifetime } from './local-server.ts'
import {
  childrenOf,
  clusterOwner,
  dataOf,
  removeStalePidFile,
  identityOf,
  initialise,
  programOf,
  serverOf,
} from './postgres-cluster.ts'
import { placeFor } from './postgres-place.ts'
import type { PostgresPlace } from './postgres-place.ts'
import { keptSecret } from './secrets.ts'

/** How Postgres shuts down: waits for its clients, disconnects them, or leaves recovery to the next start. */
export type StopMode = 'smart' | 'fast' | 'immediate'

const stopSignals: Record<StopMode, NodeJS.Signals> = { smart: 'SIGTERM', fast: 'SIGINT', immediate: 'SIGQUIT' }

/** How to run an embedded Postgres. */
export type PostgresOptions = {
  /** The folder of its data, password and log, made if missing. Only one Postgres can use it at a time. */
  folder: string
  /** The first port to try; the next free one is used. 0 or absent: any. */
  port?: number
  /** Server settings beyond the defaults here, for example `{ fsync: 'off' }`. */
  settings?: Record<string, string>
  /** Whether it listens on a Unix socket too, in the folder of its data, if the path of that is short enough. */
  socket?: boolean
  lifetime?: Lifetime
  /** Called when it ends unexpectedly, with the last lines of its log. */
  onDeath?: (log: string) => void
  /** Gets messages for people, one line each. */
  say?: (line: string) => void
}

const defaults: Record<string, string> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
  timezone: 'UTC',
  log_timezone: 'UTC',
}

/** The longest path of a socket, in bytes. */
const LONGEST_SOCKET = 100

function settingsOf(options: PostgresOptions, home: string, port: number): string[] {
  const fits = Buffer.byteLength(join(home, `.s.PGSQL.${port}.lock`)) <= LONGEST_SOCKET
  const socket = options.socket && fits ? { unix_socket_directories: home } : {}
  const settings = { ...defaults, ...socket, ...options.settings, port: String(port) }
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

function addressOf(port: number, password: string, database: string): string {
  return `postgres://${clusterOwner}:${password}@127.0.0.1:${port}/${database}`
}

async function connects(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 })
  // A server that goes away meanwhile must not end this process.
  client.on('error', () => {})
  try {
    await client.connect()
    await client.end()
    return true
  } catch (error) {
    // The only answer that waiting does not change.
    if ((error as { code?: string }).code === '28P01') {
      throw new Error('Postgres refuses the kept password', { cause: error })
    }
    return false
  }
}

/** A private Postgres that listens only on 127.0.0.1. Made by `startPostgres`. A restart reuses port and data. */
export class Postgres extends LocalServer {
  private readonly password: string
  /** The folder with its data, which may be outside of the given one: see `placeFor`. */
  readonly data: string

  /** Used by the functions below. */
  constructor(place: PostgresPlace, options: PostgresOptions, password: string) {
    super(
      {
        name: 'Postgres',
        command: (port) => [
          programOf(place, 'postgres'),
          '-D',
          dataOf(place),
          ...settingsOf(options, place.home, port),
        ],
        identity: identityOf(place),
        log: join(resolve(options.folder), 'postgres.log'),
        firstPort: options.port ?? 0,
        lifetime: options.lifetime ?? 'with-starter',
        stopSignal: stopSignals.fast,
        ready: (port) => connects(addressOf(port, password, 'postgres')),
        passing: {
          portTaken: /address already in use|could not bind/i,
          lingering: /pre-existing shared memory block|lock file .* already exists/i,
        },
        children: childrenOf,
        prepare: () => removeStalePidFile(place),
        onDeath: options.onDeath,
      },
      serverOf(place),
    )
    this.password = password
    this.data = dataOf(place)
  }

  /** The address of its database `tollgate`, password included. */
  get url(): string {
    return this.urlOf(clusterOwner)
  }

  /** The address of another of its databases, as their owner. */
  urlOf(database: string): string {
    return addressOf(this.port, this.password, database)
  }

  /** Stops it as any server, or in another mode than `fast`. */
  override async stop(mode: StopMode = 'fast'): Promise<void> {
    await this.stopBy(stopSignals[mode])
  }
}

async function ensureDatabase(server: Postgres, name: string): Promise<void> {
  const client = new pg.Client({ connectionString: server.urlOf('postgres') })
  await client.connect()
  try {
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [name])
    if (rowCount === 0) await client.query(`CREATE DATABASE ${client.escapeIdentifier(name)}`)
  } finally {
    await client.end()
  }
}

function passwordFile(folder: string): string {
  return join(resolve(folder), 'postgres-password')
}

/**
 * Starts an embedded Postgres over the data in a folder. The first start makes them, with an empty database `tollgate`.
 * A server that a killed start has left running over this folder is stopped first. Throws an Error when
 * no Postgres is installed for this system, or when it does not come up.
 */
export async function startPostgres(options: PostgresOptions): Promise<Postgres> {
  const place = placeFor(options.folder, options.say ?? (() => {}))
  const file = passwordFile(options.folder)
  if (existsSync(dataOf(place)) && !existsSync(file)) {
    throw new Error(`${file} is missing: nobody can sign in to the data there`)
  }
  const password = keptSecret(file)
  await initialise(place, password)
  const server = new Postgres(place, options, password)
  if (server.runs) {
    await server.stop()
    return await startPostgres(options)
  }
  await server.start()
  await ensureDatabase(server, clusterOwner)
  return server
}
