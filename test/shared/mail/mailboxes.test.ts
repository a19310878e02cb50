import { expect } from 'chai'
import { createMailboxes } from '../../../src/shared/mail/mailboxes.ts'

describe('the hash of a mailbox', () => {
  const [old, fresh] = ['o'.repeat(32), 'n'.repeat(32)]
  const mailboxes = createMailboxes({ APP_SECRET: old })
  const hashOf = (email: string): string => mailboxes(email).hash.toString('hex')

  it('is the same for all addresses that lead to it, and for no other', () => {
    expect(hashOf('ada+shop@example.com')).to.equal(hashOf('ada@example.com'))
    expect(hashOf('a.da+x@gmail.com')).to.equal(hashOf('ada@googlemail.com'))
    expect(hashOf('a.da@example.com')).not.to.equal(hashOf('ada@example.com'))
  })

  it('cannot be made without the secret, and is known again after a change of it', () => {
    const after = createMailboxes({ APP_SECRET: fresh, APP_SECRET_PREVIOUS: old })('ada@example.com')
    expect(after.hash.toString('hex')).not.to.equal(hashOf('ada@example.com'))
    expect(after.known.map((one) => one.toString('hex'))).to.include(hashOf('ada@example.com'))
  })
})
