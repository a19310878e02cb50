import { expect } from 'chai'
import { Webhook as Verifier } from 'standardwebhooks'
import { parseId } from '../../../src/shared/platform/ids.ts'
import { createSecretBox } from '../../../src/shared/webhooks/secrets.ts'
import { createWebhook, showCallbackSecret } from '../../../src/shared/webhooks/webhooks.ts'
import { send } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import { startReceiver } from '../../support/webhooks.ts'
import type { Receiver } from '../../support/webhooks.ts'
import { useGateway } from '../../support/gateway.ts'

const CHAT = { model: 'sandbox-chat', messages: [{ role: 'user', content: 'a secret prompt' }] }
const IMAGE = { model: 'sandbox-image', prompt: 'a secret prompt', resolution: '1K' }

describe('X-Callback-Url', () => {
  const gateway = useGateway({ WEBHOOK_ALLOW_PRIVATE: 'on' })
  let receiver: Receiver
  before(async () => {
    receiver = await startReceiver()
  })
  after(() => receiver.stop())
  beforeEach(() => {
    receiver.received.length = 0
  })

  const call = (key: string, path: string, body: object, headers: Record<string, string>) =>
    send('POST', `${gateway.url}/v1/${path}`, { key, body, headers })
  const told = (count: number) =>
    until(`${count} events have come`, () => (receiver.received.length >= count ? receiver.received : null))

  it('is told the end of its call once, signed with the secret of the account, whoever waited', async () => {
    const account = await gateway.account(1000)
    const headers = { 'X-Callback-Url': `${receiver.url}?job=7` }
    const chat = await call(account.key, 'chat/completions', CHAT, headers)
    expect(chat.status, chat.text).to.equal(200)
    await told(1)
    // The call made it: it is still to be shown.
    const secret = (await showCallbackSecret(gateway.db, createSecretBox(gateway.config), account.id))!
    const image = await call(account.key, 'images/generations', IMAGE, { ...headers, Prefer: 'respond-async' })
    expect(image.status, image.text).to.equal(202)
    const [first, second] = await told(2)
    expect(first!.path).to.equal('/events?job=7')
    const event = new Verifier(secret).verify(second!.body, second!.headers as Record<string, string>)
    expect(event).to.deep.include({ type: 'call.succeeded' })
    expect(JSON.parse(second!.body).data.call).to.equal(image.json.id)
    expect(JSON.parse(first!.body).data.call).to.equal(chat.headers.get('x-call-id'))
    for (const { body } of receiver.received) expect(body).not.to.match(/secret prompt|http/)
  })

  it('is told beside the webhooks of the account', async () => {
    const account = await gateway.account(1000)
    const box = createSecretBox(gateway.config)
    await createWebhook(gateway.db, box, account.id, { url: receiver.url, types: ['call.succeeded', 'chat'] })
    await call(account.key, 'chat/completions', CHAT, { 'X-Callback-Url': `${receiver.url}?own` })
    await told(2)
    expect(receiver.received.map(({ path }) => path)).to.have.members(['/events', '/events?own'])
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).to.equal(1)
  })

  it('is refused where no event may go, and then nothing is charged', async () => {
    const account = await gateway.account(1000)
    for (const url of ['', 'nowhere', 'ftp://one.example/', `https://one.example/${'x'.repeat(2048)}`]) {
      const reply = await call(account.key, 'images/generations', IMAGE, { 'X-Callback-Url': url })
      expect(reply.status, url.slice(0, 40)).to.equal(400)
      expect(reply.json.error.param).to.equal('X-Callback-Url')
    }
    expect(await account.balance()).to.equal(1000)
  })

  it('is told once of a call that a retry joins', async () => {
    const account = await gateway.account(1000)
    const headers = { 'X-Callback-Url': receiver.url, 'Idempotency-Key': 'one' }
    const replies = await Promise.all([1, 2].map(() => call(account.key, 'images/generations', IMAGE, headers)))
    const [id] = replies.map((reply) => reply.headers.get('x-call-id')!)
    await told(1)
    const rows = await gateway.db('webhook_deliveries').where('body', 'like', `%${id}%`)
    expect(parseId('call', id!)).not.to.equal(null)
    expect(rows).to.have.length(1)
  })
})
