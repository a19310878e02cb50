import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { runTool } from '../tools.ts'
import type { ToolResult } from '../tools.ts'
import { findProgram } from './processes.ts'

const policyFile = '/usr/sbin/policy-rc.d'

const run = (command: string, args: readonly string[]): Promise<ToolResult> =>
  runTool(command, args, { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' } })

const install = (): Promise<ToolResult> =>
  run('apt-get', 'install -y -q --no-install-recommends -o DPkg::Lock::Timeout=120 redis-server'.split(' '))

/** The package has a system service on port 6379, which must start neither now nor at the next boot. */
async function leaveNoService(): Promise<void> {
  if (findProgram('systemctl') !== undefined) await run('systemctl', ['disable', '--now', 'redis-server.service'])
  if (findProgram('update-rc.d') !== undefined) await run('update-rc.d', ['redis-server', 'disable'])
}

/**
 * Installs Debian's or Ubuntu's redis-server only for its program: the service of the package is neither started nor
 * enabled. Throws an Error with the end of apt's output when that fails. Only for root, and only without a Redis.
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
      const lastWords = result.output.split('\n').slice(-6).join('\n')
      throw new Error(`apt-get install redis-server failed; install it by hand or set REDIS_URL:\n${lastWords}`)
    }
    await leaveNoService()
  } finally {
    if (policyIsOurs) rmSync(policyFile, { force: true })
  }
}
