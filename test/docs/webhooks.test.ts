import { expect } from 'chai'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../scripts/folders.ts'
import { until } from '../../scripts/harness/until.ts'
import { freePort } from '../../scripts/services/ports.ts'
import { newSigningSecret, shownSecret, signedHeaders } from '../../src/shared/webhooks/secrets.ts'

describe('docs/webhooks.md', () => {
  it('has a receiver that takes an event once, and refuses what is not signed', async () => {
    const text = readFileSync(join(root, 'docs/webhooks.md'), 'utf8')
    const [, program] = /^```js\n(.*?)^```$/ms.exec(text)!
    expect(program!.trim().split('\n').length, 'twenty lines, beside the empty ones').to.be.at.most(22)
    const port = await freePort()
    const secret = newSigningSecret()
    const receiver = spawn(process.execPath, ['--input-type=module', '-e', program!], {
      cwd: root,
      env: { ...process.env, NODE_OPTIONS: '', PORT: String(port), WEBHOOK_SECRET: shownSecret(secret) },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let output = ''
    receiver.stdout.on('data', (piece: Buffer) => {
      output += piece.toString()
    })
    try {
      const body = JSON.stringify({
        type: 'webhook.test',
        timestamp: new Date().toISOString(),
        data: { webhook: 'wh_1' },
      })
      const signed = { id: 'evt_1', timestamp: Math.floor(Date.now() / 1000), body }
      const post = async (headers: Record<string, string>): Promise<number> =>
        (await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body })).status
      await until('the receiver listens', () => post({}).catch(() => null))
      expect(await post({})).to.equal(400)
      expect(await post(signedHeaders(signed, [newSigningSecret()]))).to.equal(400)
      for (let time = 0; time < 2; time += 1) expect(await post(signedHeaders(signed, [secret]))).to.equal(204)
      expect(output).to.equal('webhook.test {"webhook":"wh_1"}\n')
    } finally {
      receiver.kill()
      await once(receiver, 'exit')
    }
  })
})
