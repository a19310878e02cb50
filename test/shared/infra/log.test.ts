import { expect } from 'chai'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import { describeError, openDestination, withoutSecrets } from '../../../src/shared/infra/log.ts'
import { UpstreamError } from '../../../src/workers/upstreams/adapter.ts'
import { newSecret } from '../../../src/shared/accounts/api-keys.ts'

describe('what is logged', () => {
  it('has nothing in it that looks like a secret', () => {
    const key = newSecret()
    const texts = [
      `key ${key} was refused`,
      `Authorization: Bearer ${key}`,
      'authorization: bearer abc.def-ghi',
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

describe('the lines of a log', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'tollgate-log-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  it('are written together, all of them, and nothing is written while there are none', async () => {
    const dest = join(folder, 'lines')
    const stream = openDestination({ dest, minLength: 100 })
    const writes: number[] = []
    stream.on('write', (bytes: number) => writes.push(bytes))
    await once(stream, 'ready')
    let expected = ''
    const say = (line: string) => {
      expected += line
      stream.write(line)
    }
    for (let nth = 0; nth < 3; nth++) {
      // The third begins a write, and the fourth comes while it goes on.
      for (const line of ['short\n', 'Überschrift\n', `${'x'.repeat(100)}\n`, 'last\n']) say(line)
      while (readFileSync(dest, 'utf8') !== expected) await once(stream, 'write')
    }
    expect(writes.length).to.be.at.most(6)
    // Another one that writes regularly, whatever there is.
    const regular = pino.destination({ dest: join(folder, 'regular'), sync: false, minLength: 100, periodicFlush: 50 })
    for (let nth = 0; nth < 5; nth++) await once(regular, 'write')
    for (const one of [stream, regular]) one.destroy()
    expect(writes).not.to.include(0)
    expect(writes.reduce((sum, bytes) => sum + bytes, 0)).to.equal(Buffer.byteLength(expected))
  })
})
