import { expect } from 'chai'
import type { Sandbox } from '../../sandbox/server.ts'
import { createSandbox } from '../../sandbox/server.ts'
import { prompted } from '../../scripts/harness/calling.ts'
import { anAccount, balanceOf } from '../../scripts/harness/factories.ts'
import type { TestAccount } from '../../scripts/harness/factories.ts'
import { install } from '../../scripts/harness/installation.ts'
import type { Installation, Program } from '../../scripts/harness/installation.ts'
import { eventually, until } from '../../scripts/harness/until.ts'
import { silence } from '../shared/media-files/fixtures.ts'
import { expectBooksToBalance } from '../support/books.ts'

const FUNDS = 100_000

/** Three credits for two characters, and five at least. */
const priceOf = (text: string): number => Math.max(5, Math.ceil((text.length * 3) / 2))

describe('sound whose worker is killed', () => {
  let sandbox: Sandbox
  let installation: Installation
  let web: Program
  let victim: Program
  before(async () => {
    sandbox = await createSandbox({})
    installation = await install(sandbox, {})
    ;[web, victim] = await Promise.all([installation.start('web'), installation.start('worker')])
  })
  after(async () => {
    await installation.end()
    await sandbox.close()
  })

  const headersOf = ({ key }: TestAccount): Record<string, string> => ({ authorization: `Bearer ${key}` })

  const speak = (account: TestAccount, input: string): Promise<Response> =>
    fetch(`${web.url}/v1/audio/speech`, {
      method: 'POST',
      headers: { ...headersOf(account), 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sandbox-speech', voice: 'alloy', input }),
    })

  function transcribe(account: TestAccount, prompt: string): Promise<Response> {
    const form = new FormData()
    form.append('model', 'sandbox-transcription')
    form.append('prompt', prompt)
    form.append('file', new Blob([new Uint8Array(silence(2))]), 'speech.wav')
    return fetch(`${web.url}/v1/audio/transcriptions`, { method: 'POST', headers: headersOf(account), body: form })
  }

  it('is paid in full from its first byte on; what said nothing, and transcriptions, are refunded', async () => {
    const [speaker, waiting, sender] = await Promise.all([1, 2, 3].map(() => anAccount(installation.db, FUNDS)))
    const spoken = prompted('[hang-after 1]')
    const [silent, held] = [prompted('[hang]'), prompted('[hang]')]
    const response = await speak(speaker!, spoken)
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    expect((await reader.read()).value!.length).to.be.above(0)
    const unanswered = speak(waiting!, silent)
    const transcribed = transcribe(sender!, held)
    await until('the upstream has both', () => sandbox.billed(silent).total + sandbox.billed(held).total === 2)
    await victim.kill()
    await installation.start('worker')
    expect(await reader.read().catch(() => 'broken')).to.equal('broken')
    await eventually(async () => {
      expect(await balanceOf(installation.db, speaker!.id)).to.equal(FUNDS - priceOf(spoken))
      expect(await installation.db('calls').where({ account_id: speaker!.id }).first('status')).to.deep.equal({
        status: 'succeeded',
      })
    })
    expect((await unanswered).status).to.equal(502)
    expect((await transcribed).status).to.equal(502)
    expect(await balanceOf(installation.db, waiting!.id)).to.equal(FUNDS)
    expect(await balanceOf(installation.db, sender!.id)).to.equal(FUNDS)
    await eventually(async () => {
      expect(await installation.db('uploads').count('*').first()).to.deep.equal({ count: 0 })
    })
    await expectBooksToBalance(installation.db)
  })
})
