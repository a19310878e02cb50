import '../require-node.ts'
import { existsSync } from 'node:fs'
import { browserProgram } from '../services/processes.ts'
import { runTool } from '../tools.ts'
import { CLIENT_NAMES, installClient } from './clients.ts'

/**
 * `npm run prepare-tests`: installs what some tests need and no package of this one brings: clients from the registry,
 * and for root on Debian a Chromium. Tests use no network, and skip what is not installed. The exit code is 0 only if
 * all of it is there.
 */
async function stage(name: string, work: () => Promise<void>): Promise<void> {
  try {
    await work()
    console.log(`${name.padEnd(12)} is installed`)
  } catch (error) {
    console.error(`${name.padEnd(12)} cannot be installed: ${(error as Error).message}`)
    process.exitCode = 1
  }
}

async function installChromium(): Promise<void> {
  if (browserProgram() !== undefined) return
  if (process.getuid?.() !== 0 || !existsSync('/etc/debian_version'))
    throw new Error('install chromium-headless-shell, chromium or google-chrome, and have it on the PATH')
  const packages = [
    'install',
    '-y',
    '-q',
    '--no-install-recommends',
    '-o',
    'DPkg::Lock::Timeout=300',
    'chromium-headless-shell',
  ]
  if ((await runTool('apt-get', packages)).ok) return
  await runTool('apt-get', ['update', '-q'])
  const { ok, output } = await runTool('apt-get', packages)
  if (!ok) throw new Error(output)
}

for (const name of CLIENT_NAMES) await stage(name, () => installClient(name))
await stage('chromium', installChromium)
