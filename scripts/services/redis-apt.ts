import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { findProgram } from './processes.ts'

const policyFile = '/usr/sbin/policy-rc.d'

async function run(command: string, args: readonly string[]): Promise<{ ok: boolean; output: string }> {
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' },
  })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  const [code] = (await once(child, 'close')) as [number | null]
  return { ok: code === 0, output }
}

function install(): Promise<{ ok: boolean; output: string }> {
  return run('apt-get', [
    'install',
    '-y',
    '-q',
    '--no-install-recommends',
    '-o',
    'DPkg::Lock::Timeout=120',
    'redis-server',
  ])
}

/** The package has a system service on port 6379, which must start neither now nor at the next boot. */
async function leaveNoService(): Promise<void> {
  if (findProgram('systemctl') !== undefined) await run('systemctl', ['disable', '--now', 'redis-server.service'])
  if (findProgram('update-rc.d') !== undefined) await run('update-rc.d', ['redis-server', 'disable'])
}

/**
 * Installs Debian's or Ubuntu's redis-server only for its program: the service of the package is neither started nor
 * enabled. Throws an Error with the end of apt's output when that fails. Only for root, and only where there is none
 * yet.
 */
export async function installRedis(): Promise<void> {
  const policyIsOurs = !existsSync(policyFile)
  // Debian runs this file before a package starts a service. It refuses only while this process lives, in case that is
  // killed.
  if (policyIsOurs) {
    const script = [
      '#!/bin/sh',
      '# Made by Tollgate while it installs redis-server; can be removed.',
      `kill -0 ${process.pid} 2>/dev/null && exit 101`,
      'exit 0',
      '',
    ]
    writeFileSync(policyFile, script.join('\n'), { mode: 0o755 })
  }
  try {
    let result = await install()
    if (!result.ok) {
      // The package lists may be missing or stale.
      await run('apt-get', ['update', '-q'])
      result = await install()
    }
    if (!result.ok) {
      const lastWords = result.output.trim().split('\n').slice(-6).join('\n')
      throw new Error(`apt-get install redis-server failed; install it by hand or set REDIS_URL:\n${lastWords}`)
    }
    await leaveNoService()
  } finally {
    if (policyIsOurs) rmSync(policyFile, { force: true })
  }
}
