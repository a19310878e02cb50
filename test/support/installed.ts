import { createSandbox } from '../../sandbox/server.ts'
import type { Sandbox } from '../../sandbox/server.ts'
import { build, buildIsStale } from '../../scripts/build/builder.ts'
import { install } from '../../scripts/harness/installation.ts'
import type { Installation } from '../../scripts/harness/installation.ts'
import type { Settings } from '../../scripts/harness/harness.ts'
import { expectBooksToBalance } from './books.ts'
import { useFor } from './gateway.ts'

/** Real processes over a database and a sandbox of their own. */
export type Installed = Pick<Installation, 'db' | 'config' | 'start' | 'launch'> & {
  sandbox: Sandbox
  installation: Installation
}

/**
 * The installation of a suite, without a process yet: compiled ones, which memory and times are promised of, unless
 * sources do as well. When its tests have ended, every rule of the audit must hold, and all processes end.
 */
export const useInstallation = (
  settings: Settings = {},
  speed: Parameters<typeof createSandbox>[0] = {},
  change?: Parameters<typeof install>[3],
  programs: 'compiled' | 'any' = 'compiled',
): Installed =>
  useFor(
    async () => {
      if (programs === 'compiled' && buildIsStale()) await build()
      const sandbox = await createSandbox(speed)
      const installation = await install(sandbox, settings, {}, change)
      const { db, config } = installation
      const [start, launch] = [installation.start.bind(installation), installation.launch.bind(installation)]
      return { sandbox, installation, db, config, start, launch }
    },
    async ({ sandbox, installation, db }) => {
      try {
        await expectBooksToBalance(db)
      } finally {
        await installation.end()
        await sandbox.close()
      }
    },
  )
