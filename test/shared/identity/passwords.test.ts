import { expect } from 'chai'
import type { ApiError } from '../../../src/shared/platform/errors.ts'
import {
  NO_PASSWORD,
  hashPassword,
  newPasswordFault,
  verifyOwner,
  verifyPassword,
} from '../../../src/shared/identity/passwords.ts'

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

  it('prove their user; without one that signs in, a fresh session does', async () => {
    const hash = await hashPassword('correct horse 1')
    const [stale, fresh] = [
      { isFresh: false, usesPasswords: true, password: 'correct horse 1' },
      { isFresh: true, usesPasswords: false },
    ]
    for (const [stored, proof, due] of [
      [hash, stale, true],
      [hash, fresh, true],
      [null, fresh, false],
      [hash, { ...fresh, usesPasswords: true }, 'invalid_request'],
      [NO_PASSWORD, stale, 'proof_required'],
      [hash, { ...stale, usesPasswords: false }, 'proof_required'],
    ] as const)
      expect(await verifyOwner(stored, proof).catch(({ code }: ApiError) => code)).to.equal(due)
  })

  it('cost the same work, whichever hash they are compared with, while there are imported ones', async () => {
    const work = async (hash: string | null, bothKinds: boolean): Promise<number> => {
      const before = process.cpuUsage()
      for (let round = 0; round < 3; round++) expect(await verifyPassword(hash, 'wrong', bothKinds)).to.equal(false)
      const { user, system } = process.cpuUsage(before)
      return user + system
    }
    const imported = '$2a$10$7EqJtq98hPqEX7fNZaFWoOhi6EmsUsGrr3zUrBKOHkiNMhhAmmMx2'
    await work(null, true)
    const all = [await work(imported, true), await work(await hashPassword('another'), true), await work(null, true)]
    expect(Math.max(...all) / Math.min(...all)).to.be.lessThan(1.5)
  })

  it('are the same from every keyboard: letters with their marks, Hangul, digits and spaces of any width', async () => {
    for (const [set, typed] of [
      ['Caf\u00e9-terrasse-7', 'Cafe\u0301-terrasse-7'],
      ['m\u1ead-t-kh\u1ea9u-1', 'ma\u0323\u0302-t-kha\u0302\u0309u-1'],
      [
        '\ud55c\uad6d\uc5b4\ube44\ubc00-1',
        '\u1112\u1161\u11ab\u1100\u116e\u11a8\u110b\u1165\u1107\u1175\u1106\u1175\u11af-1',
      ],
      ['correct horse \uff11\uff12', 'correct horse 12'],
      ['correct\u00a0horse 1', 'correct horse 1'],
    ] as const) {
      const [one, other] = [await hashPassword(set), await hashPassword(typed)]
      expect([await verifyPassword(one, typed), await verifyPassword(other, set)], set).to.deep.equal([true, true])
    }
  })

  it('count as long as their normal form', () => {
    expect(newPasswordFault('e\u0301'.repeat(6) + '1')).to.equal('password_too_short')
    expect(newPasswordFault('e\u0301'.repeat(71) + '1')).to.equal(null)
  })

  it('are checked for their length in code points, then for letters and digits of any script', () => {
    expect(newPasswordFault('𝒶'.repeat(7))).to.equal('password_too_short')
    expect(newPasswordFault(`${'𝒶'.repeat(7)}1`)).to.equal(null)
    expect(newPasswordFault(`${'𝒶'.repeat(71)}1`)).to.equal(null)
    expect(newPasswordFault(`${'𝒶'.repeat(72)}1`)).to.equal('password_too_long')
    expect(newPasswordFault('пароль١٢')).to.equal(null)
    expect(newPasswordFault('#'.repeat(20))).to.equal('password_needs_letter_and_digit')
  })
})
