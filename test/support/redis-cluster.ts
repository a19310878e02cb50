import { mkdtempSync, mkdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { LocalServer } from '../../scripts/services/local-server.ts'
import { until } from '../../scripts/harness/until.ts'

const NODES = 3
const SLOTS = 16_384

/** The first port to try: a node's bus listens at 10,000 above its port. */
const FIRST_PORT = 20_100

/** A Redis Cluster of three masters on this machine. */
export type RedisCluster = {
  /** The addresses of its nodes. */
  urls: string[]
  /** The address of the node that has this key, and those of the others. */
  ownerOf: (key: string) => Promise<{ owner: string; others: string[] }>
  /** How many keys each node has. */
  sizes: () => Promise<number[]>
  stop: () => Promise<void>
}

/** Starts one and waits until it serves every slot. */
export async function startRedisCluster(program: string): Promise<RedisCluster> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-cluster-'))
  const servers: LocalServer[] = []
  const clients: Redis[] = []
  for (let node = 0; node < NODES; node++) {
    const server = nodeIn(
      program,
      join(folder, String(node)),
      servers.at(-1)?.port ?? FIRST_PORT + (process.pid % 500) * 10,
    )
    await server.start()
    servers.push(server)
    clients.push(new Redis(server.port, '127.0.0.1', { maxRetriesPerRequest: 1 }))
  }
  const share = Math.ceil(SLOTS / NODES)
  for (const [node, client] of clients.entries()) {
    const slots = Array.from({ length: Math.min(share, SLOTS - node * share) }, (_, at) => node * share + at)
    await client.cluster('ADDSLOTS', ...slots)
    await client.cluster('MEET', '127.0.0.1', servers[0]!.port)
  }
  for (const client of clients)
    await until('the cluster', async () => String(await client.cluster('INFO')).includes('cluster_state:ok'))
  const urls = servers.map(({ port }) => `redis://127.0.0.1:${port}`)
  return {
    urls,
    ownerOf: async (key) => {
      const owner = urls[Math.floor(Number(await clients[0]!.cluster('KEYSLOT', key)) / share)]!
      return { owner, others: urls.filter((url) => url !== owner) }
    },
    sizes: () => Promise.all(clients.map((client) => client.dbsize())),
    stop: async () => {
      for (const client of clients) client.disconnect()
      await Promise.all(servers.map((server) => server.stop()))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function nodeIn(program: string, folder: string, firstPort: number): LocalServer {
  mkdirSync(folder)
  return new LocalServer({
    name: 'Redis node',
    command: () => [program, '-'],
    input: (port) =>
      [
        'bind 127.0.0.1',
        `port ${port}`,
        'daemonize no',
        `dir ${JSON.stringify(folder)}`,
        'maxmemory-policy noeviction',
        'save ""',
        'appendonly no',
        'cluster-enabled yes',
        'cluster-node-timeout 2000',
      ].join('\n'),
    log: join(folder, 'redis.log'),
    firstPort,
    lifetime: 'with-starter',
    stopSignal: 'SIGTERM',
    ready: answers,
    passing: { portTaken: /Address already in use|Could not create server TCP/i },
  })
}

async function answers(port: number): Promise<boolean> {
  const client = new Redis({ host: '127.0.0.1', port, lazyConnect: true, retryStrategy: () => null })
  client.on('error', () => {})
  try {
    await client.connect()
    return (await client.ping()) === 'PONG'
  } catch {
    return false
  } finally {
    client.disconnect()
  }
}
