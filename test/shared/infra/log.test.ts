import { expect } from 'chai'
import { describeError, withoutSecrets } from '../../../src/shared/infra/log.ts'
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

  it('accepts whatever was thrown', () => {
    for (const thrown of ['text', null, undefined, 7, { password: 'hunter2' }])
      expect(describeError(thrown)).to.have.keys('message')
    expect(JSON.stringify(describeError({ password: 'hunter2' }))).not.to.include('hunter2')
  })
})
