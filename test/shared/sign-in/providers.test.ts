import { expect } from 'chai'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readProviders } from '../../../src/shared/sign-in/providers.ts'

const file = join(mkdtempSync(join(tmpdir(), 'tollgate-providers-')), 'providers.json')
const GOOGLE = {
  id: 'google',
  label: 'Google',
  issuer: 'https://accounts.google.com',
  clientId: 'x',
  clientSecretEnv: 'GOOGLE',
  register: 'open',
}

function read(content: unknown, NODE_ENV?: string) {
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
  const secretOf = (name: string): string | undefined => (name === 'GOOGLE' ? 'secret' : undefined)
  return readProviders({ SIGNIN_PROVIDERS: file, NODE_ENV, secretOf })
}

describe('the file of providers', () => {
  it('is read with what follows from it, and none without a file', () => {
    expect(readProviders({ SIGNIN_PROVIDERS: undefined, NODE_ENV: undefined, secretOf: () => 'x' })).to.deep.equal([])
    const [google, github] = read([GOOGLE, { ...GOOGLE, id: 'github', issuer: undefined, github: true }])
    expect(google).to.include({ issuer: 'https://accounts.google.com/', github: null, clientSecret: 'secret' })
    expect(github).to.include({ issuer: 'https://github.com/login/oauth', github: 'https://github.com' })
    expect(read([{ ...GOOGLE, issuer: 'http://127.0.0.1:9' }])).to.have.length(1)
  })

  it('is refused with its path and a sentence that names the field', () => {
    const FAULTS: [unknown, RegExp, string?][] = [
      ['{', /it is not JSON\.$/],
      [{}, /it must be a list\.$/],
      [[{ ...GOOGLE, id: 'Google' }], /\[0\]\.id must be lower-case/],
      [[{ ...GOOGLE, id: 'finish' }], /\[0\]\.id must be lower-case/],
      [[GOOGLE, GOOGLE], /it must have each id once\.$/],
      [[{ ...GOOGLE, register: 'all' }], /\[0\]\.register must be one of/],
      [[{ ...GOOGLE, trustEmail: true }], /\[0\] has an unknown field: trustEmail\.$/],
      [[{ ...GOOGLE, github: true }], /\[0\]\.issuer must be there, or github, and not both\.$/],
      [[{ ...GOOGLE, issuer: 'https://a@b.example' }], /\[0\]\.issuer must be an address without a user/],
      [[{ ...GOOGLE, issuer: 'https://b.example/?x' }], /\[0\]\.issuer must be an address without a user/],
      [[{ ...GOOGLE, scopes: ['email'] }], /\[0\]\.scopes must include openid\.$/],
      [[{ ...GOOGLE, clientSecretEnv: 'NONE' }], /\[0\]\.clientSecretEnv names NONE, which is not set/],
      [[{ ...GOOGLE, issuer: 'http://example.com' }], /\[0\]\.issuer must be an https address\.$/],
      [[{ ...GOOGLE, issuer: 'http://127.0.0.1:9' }], /\[0\]\.issuer must be an https address\.$/, 'production'],
      // Anybody can have a tenant of Microsoft (nOAuth).
      ...['common', 'Organizations/v2.0'].map((path): [unknown, RegExp] => [
        [{ ...GOOGLE, issuer: `https://login.microsoftonline.com/${path}` }],
        /\[0\]\.issuer must be that of one tenant\.$/,
      ]),
    ]
    for (const [content, message, environment] of FAULTS)
      expect(() => read(content, environment), JSON.stringify(content))
        .to.throw(message)
        .with.property('message')
        .that.contains(file)
  })
})
