import { expect } from 'chai'
import { Redis } from 'ioredis'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { chooseRedis } from '../../../scripts/services/redis-ladder.ts'
import type { RedisEnvironment } from '../../../scripts/services/redis-ladder.ts'
import { requireVersion } from '../../../scripts/services/redis.ts'
import { privateFolder, startPrivateRedis } from '../../../scripts/harness/services.ts'

function machine(programs: readonly string[], more: Partial<RedisEnvironment> = {}): RedisEnvironment {
  return {
    platform: 'linux',
    isRoot: false,
    find: (name) => (programs.includes(name) ? `/usr/bin/${name}` : undefined),
    ...more,
  }
}

describe('where Redis comes from', () => {
  it('is a program on the PATH, Redis before Valkey', () => {
    expect(chooseRedis(machine(['valkey-server']))).to.deep.equal({ from: 'program', path: '/usr/bin/valkey-server' })
    expect(chooseRedis(machine(['valkey-server', 'redis-server', 'apt-get'], { isRoot: true }))).to.deep.equal({
      from: 'program',
      path: '/usr/bin/redis-server',
    })
  })

  it("is Debian's package only for root", () => {
    expect(chooseRedis(machine(['apt-get'], { isRoot: true }))).to.deep.equal({ from: 'apt' })
    expect(chooseRedis(machine(['apt-get']))).to.have.property('from', 'nowhere')
  })

  it('is otherwise advice that fits the system', () => {
    const advice = (at: RedisEnvironment): string => {
      const source = chooseRedis(at)
      return source.from === 'nowhere' ? source.message : ''
    }
    expect(advice(machine(['apt-get'])))
      .to.include('sudo apt-get install redis-server')
      .and.include('REDIS_URL')
    expect(advice(machine(['dnf'], { isRoot: true }))).to.include('dnf install')
    expect(advice(machine(['docker']))).to.include('docker run')
    expect(advice(machine([], { platform: 'darwin' }))).to.include('brew install redis')
    expect(advice(machine([]))).to.include('REDIS_URL')
  })

  it('is refused when it is older than 6.2', () => {
    const folder = privateFolder()
    mkdirSync(folder, { recursive: true })
    const program = join(folder, 'redis-server')
    const answering = (version: string): void => {
      writeFileSync(program, `#!/bin/sh\necho "${version}"\n`, { mode: 0o755 })
    }
    for (const fine of ['Redis server v=6.2.0 sha=0', 'Redis server v=7.0.15 sha=0', 'Valkey server v=8.1.1 sha=0']) {
      answering(fine)
      expect(() => requireVersion(program)).not.to.throw()
    }
    answering('Redis server v=6.0.16 sha=0')
    expect(() => requireVersion(program)).to.throw('Redis 6.2 or newer')
    answering('something else')
    expect(() => requireVersion(program)).to.throw('does not answer as a Redis does')
  })
})

describe('a private Redis', () => {
  it('requires its password, and never evicts', async () => {
    const redis = await startPrivateRedis()
    const client = new Redis(redis.url)
    const intruder = new Redis({ host: '127.0.0.1', port: redis.port, retryStrategy: () => null })
    const refused = once(intruder, 'error') as Promise<[Error]>
    try {
      expect(await client.config('GET', 'maxmemory-policy')).to.deep.equal(['maxmemory-policy', 'noeviction'])
      expect(await client.config('GET', 'bind')).to.deep.equal(['bind', '127.0.0.1'])
      const [refusal] = await refused
      expect(refusal.message).to.include('NOAUTH')
    } finally {
      client.disconnect()
      intruder.disconnect()
      await redis.stop()
    }
  })

  it('has its data after a stop if it is durable, on the same port', async () => {
    const redis = await startPrivateRedis({ durable: true })
    const port = redis.port
    const write = new Redis(redis.url)
    await write.set('kept', 'yes')
    write.disconnect()
    await redis.stop()
    await redis.start()
    const read = new Redis(redis.url)
    try {
      expect(redis.port).to.equal(port)
      expect(await read.get('kept')).to.equal('yes')
    } finally {
      read.disconnect()
      await redis.kill()
    }
  })

  it('reports an unexpected end, and no other', async () => {
    let deaths = 0
    let told: () => void
    const death = new Promise<void>((resolve) => {
      told = resolve
    })
    const redis = await startPrivateRedis({
      onDeath: () => {
        deaths += 1
        told()
      },
    })
    await redis.kill()
    await redis.start()
    expect(deaths).to.equal(0)
    process.kill(redis.process.pid, 'SIGKILL')
    await death
    expect(deaths).to.equal(1)
  })
})
