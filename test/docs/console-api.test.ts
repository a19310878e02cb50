import { expect } from 'chai'
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { root } from '../../scripts/folders.ts'
import { findProgram } from '../../scripts/services/processes.ts'
import { startMailWorker } from '../support/console.ts'
import { startGateway } from '../../scripts/harness/harness.ts'
import type { Gateway } from '../../scripts/harness/harness.ts'

describe('docs/console-api.md', () => {
  let folder: string
  let gateway: Gateway
  let mails: { stop: () => Promise<void> }
  before(async function () {
    if (!findProgram('curl') || !findProgram('bash')) {
      process.stderr.write('skipped: the commands of the documentation need bash and curl\n')
      this.skip()
    }
    folder = mkdtempSync(join(tmpdir(), 'tollgate-docs-'))
    mkdirSync(join(folder, '.data'))
    gateway = await startGateway({
      WORKER_QUEUES: 'chat,image,video',
      SIGNUP_CREDITS: '1000',
      MAIL_FILE: join(folder, '.data/mail.jsonl'),
    })
    mails = startMailWorker(gateway.config)
  })
  after(async () => {
    await mails?.stop()
    await gateway?.stop()
    if (folder) rmSync(folder, { recursive: true, force: true })
  })

  it('has commands that work as written', async () => {
    const text = readFileSync(join(root, 'docs/console-api.md'), 'utf8')
    const commands = Array.from(text.matchAll(/^```sh\n(.*?)^```$/gms), ([, block]) =>
      block!.replace(/^BASE=.*$/m, `BASE=${gateway.url}`),
    )
    const shell = ['-euo', 'pipefail', '-c', commands.join('\n')]
    const { stdout, stderr } = await promisify(execFile)('bash', shell, { cwd: folder })
    expect(stderr).to.equal('')
    for (const seen of [
      ...(
        '"emailVerified":true "name":"laptop" "kind":"charge","amount":-40 "nextCursor":null "origin":"signup" ' +
        '"type":"webhook.test" "secret":"whsec_ "calls":1'
      ).split(' '),
      '401\n',
    ]) {
      expect(stdout).to.contain(seen)
    }
  })
})
