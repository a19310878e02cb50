import { expect } from 'chai'
import { Webhook as Verifier } from 'standardwebhooks'
import { createSecretBox } from '../../../src/shared/webhooks/secrets.ts'
import { showCallbackSecret } from '../../../src/shared/webhooks/webhooks.ts'
import { until } from '../../../scripts/harness/until.ts'
import { startReceiver } from '../../support/webhooks.ts'
import { useAccount, useFor, useGateway } from '../../support/gateway.ts'

const PROMPT = 'a secret prompt'

describe('X-Callback-Url', () => {
  const gateway = useGateway({ WEBHOOK_ALLOW_PRIVATE: 'on' })
  const account = useAccount(gateway, 1000)
  const receiver = useFor(startReceiver, ({ stop }) => stop())
  beforeEach(() => {
    receiver.received.length = 0
  })

  const at = (url: string, more: object = {}) => ({ 'X-Callback-Url': url, ...more })
  const told = (count: number) =>
    until(`${count} events have come`, () => (receiver.received.length >= count ? receiver.received : null))

  it('is told the end of its call once, signed with the secret of the account, whoever waited', async () => {
    const headers = at(`${receiver.url}?job=7`)
    const chat = await account.chat(PROMPT, {}, headers)
    expect(chat.status, chat.text).to.equal(200)
    await told(1)
    // The call made it: it is still to be shown.
    const secret = (await showCallbackSecret(gateway.db, createSecretBox(gateway.config), account.id))!
    const image = await account.image(PROMPT, {}, { ...headers, Prefer: 'respond-async' })
    expect(image.status, image.text).to.equal(202)
    const [first, second] = await told(2)
    expect(first!.path).to.equal('/events?job=7')
    const event = new Verifier(secret).verify(second!.body, second!.headers as Record<string, string>)
    expect(event).to.deep.include({ type: 'call.succeeded' })
    const calls = [first, second].map((one) => JSON.parse(one!.body).data.call)
    expect(calls).to.deep.equal([chat.headers.get('x-call-id'), image.json.id])
    for (const { body } of receiver.received) expect(body).not.to.match(/secret prompt|http/)
  })

  it('is refused where no event may go, and then nothing is charged', async () => {
    for (const url of ['', 'nowhere', 'ftp://one.example/', `https://one.example/${'x'.repeat(2048)}`]) {
      const { status, json } = await account.image(PROMPT, {}, at(url))
      expect([status, json.error.param], url.slice(0, 40)).to.deep.equal([400, 'X-Callback-Url'])
    }
    expect(await account.balance()).to.equal(1000)
  })
})
