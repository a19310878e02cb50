import { expect } from 'chai'
import { ApiError } from '../../../src/shared/errors.ts'
import {
  checkNewPassword,
  hashPassword,
  newPasswordFault,
  verifyPassword,
} from '../../../src/shared/users/passwords.ts'

describe('passwords', () => {
  it('are hashed by argon2id with the documented parameters, salted', async () => {
    const [one, two] = await Promise.all([hashPassword('correct horse 1'), hashPassword('correct horse 1')])
    expect(one).to.match(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    expect(one).not.to.equal(two)
  })

  it('match only their own hash, and none if there is no account', async () => {
    const hash = await hashPassword('correct horse 1')
    expect(await verifyPassword(hash, 'correct horse 1')).to.equal(true)
    expect(await verifyPassword(hash, 'correct horse 2')).to.equal(false)
    expect(await verifyPassword(null, 'the password of nobody')).to.equal(false)
  })

  it('are checked for their length in code points, then for letters and digits of any script', () => {
    expect(newPasswordFault('𝒶'.repeat(7))).to.equal('password_too_short')
    expect(newPasswordFault(`${'𝒶'.repeat(7)}1`)).to.equal(null)
    expect(newPasswordFault(`${'𝒶'.repeat(71)}1`)).to.equal(null)
    expect(newPasswordFault(`${'𝒶'.repeat(72)}1`)).to.equal('password_too_long')
    expect(newPasswordFault('пароль١٢')).to.equal(null)
    expect(newPasswordFault('#'.repeat(20))).to.equal('password_needs_letter_and_digit')
  })

  it('are refused with a code of the catalogue', () => {
    expect(() => checkNewPassword('short1'))
      .to.throw(ApiError)
      .with.property('code', 'password_too_short')
    expect(() => checkNewPassword('nul and 1\0'))
      .to.throw(ApiError)
      .with.property('code', 'invalid_request')
    expect(checkNewPassword('correct horse 1')).to.equal('correct horse 1')
  })
})
