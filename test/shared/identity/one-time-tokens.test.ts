import { expect } from 'chai'
import { createTokenMint } from '../../../src/shared/identity/one-time-tokens.ts'
import type { MailId } from '../../../src/shared/platform/ids.ts'

describe('the tokens of mails', () => {
  it('are derived from mail, purpose and secret, and 32 bytes long', () => {
    const [mint, other] = [
      createTokenMint('a server secret of at least 32 characters'),
      createTokenMint('a server secret of at least 32 characterS'),
    ]
    const id = '018f0000-0000-7000-8000-000000000001' as MailId
    const next = '018f0000-0000-7000-8000-000000000002' as MailId
    expect(mint('reset', id)).to.equal(mint('reset', id))
    const tokens = [mint('reset', id), mint('verification', id), mint('reset', next), other('reset', id)]
    expect(new Set(tokens).size).to.equal(4)
    for (const token of tokens) expect(Buffer.from(token, 'base64url')).to.have.length(32)
  })
})
