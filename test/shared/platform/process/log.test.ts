import { expect } from 'chai'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { root } from '../../../../scripts/folders.ts'
import { describeError, withoutSecrets } from '../../../../src/shared/platform/process/log.ts'
import { UpstreamError } from '../../../../src/workers/upstreams/adapter.ts'
import { newSecret } from '../../../../src/shared/identity/api-keys.ts'

describe('what is logged', () => {
  it('has nothing in it that looks like a secret', () => {
    const key = newSecret()
    const texts = [
      `key ${key} was refused`,
      `Authorization: Bearer ${key}`,
      'authorization: bearer abc.def-ghi',
      'x-api-key: abc.def-ghi',
      '{"X-Api-Key":"abc.def-ghi"}',
      'sk-proj-abcdefgh12345678 is wrong',
      'connect postgres://user:hunter2@db.example/x failed',
      'redis://:hunter2@redis.example',
      'Basic dXNlcjpodW50ZXIy',
    ]
    for (const text of texts) {
      expect(withoutSecrets(text), text).not.to.match(/hunter2|abc\.def|dXNlcjpodW50ZXIy|abcdefgh12345678/)
      expect(withoutSecrets(text), text).not.to.include(key)
    }
    expect(withoutSecrets('postgres://db.example/x and 3 credits')).to.equal('postgres://db.example/x and 3 credits')
  })

  it("has an error's name, code, message, stack and cause, and no other property", () => {
    const cause = Object.assign(new Error('duplicate key'), {
      code: '23505',
      detail: 'Key (email)=(a@b.example) already exists.',
      config: { headers: { authorization: 'x' } },
    })
    const seen = describeError(new Error('not stored', { cause }))
    expect(seen).to.have.all.keys('name', 'message', 'stack', 'cause')
    expect(seen.cause).to.include({ name: 'Error', code: '23505', message: 'duplicate key' })
    expect(JSON.stringify(seen)).not.to.match(/a@b\.example|authorization/)
  })

  it("has no message that quotes what was parsed, and no service's own words, unless an operator asks for them", () => {
    const parsing = (() => {
      try {
        return JSON.parse('a prompt')
      } catch (error) {
        return error as Error
      }
    })()
    const refused = new UpstreamError('rejected', 'HTTP 400', { status: 400, code: 'a prompt', said: 'a prompt' })
    const stripe = Object.assign(new Error('a prompt'), { type: 'StripeAPIError', code: 'card_declined' })
    for (const error of [parsing, refused, stripe, new Error('not read', { cause: parsing })]) {
      expect(JSON.stringify(describeError(error)), error.name).not.to.contain('prompt')
      expect(JSON.stringify(describeError(error, true)), error.name).to.contain('a prompt')
    }
    expect(describeError(parsing)).to.include({ name: 'SyntaxError' })
    expect(describeError(parsing).stack).to.contain('log.test.ts')
    expect(describeError(refused))
      .to.include({ status: 400, message: 'HTTP 400' })
      .and.not.have.any.keys('code', 'said')
    expect(describeError(stripe)).to.include({ type: 'StripeAPIError', code: 'card_declined' })
  })

  it('accepts whatever was thrown', () => {
    for (const thrown of ['text', null, undefined, 7, { password: 'hunter2' }])
      expect(describeError(thrown)).to.have.keys('message')
    expect(JSON.stringify(describeError({ password: 'hunter2' }))).not.to.include('hunter2')
  })
})

describe('a log that nobody reads', () => {
  it('keeps a bounded part of its lines in memory, and all of it leaves once somebody does', async () => {
    const program = `
      import { createLog, logWritten } from ${JSON.stringify(join(root, 'src/shared/platform/process/log.ts'))}
      const log = createLog('info', 'worker')
      for (let nth = 0; nth < 64; nth++) log.info({ nth, long: 'x'.repeat(1_000_000) }, 'line')
      console.error(process.stdout.writableLength)
      await logWritten()
      process.exit(7)`
    const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const [waiting] = (await once(child.stderr, 'data')) as [Buffer]
    expect(Number(waiting)).to.be.within(15_000_000, 18_000_000)
    const lines: { nth: number }[] = []
    createInterface({ input: child.stdout }).on('line', (line) => lines.push(JSON.parse(line) as { nth: number }))
    expect(await once(child, 'close')).to.deep.equal([7, null])
    expect(lines.map(({ nth }) => nth)).to.deep.equal(lines.map((_line, at) => at))
    expect(lines.length).to.be.within(15, 20)
  })
})
