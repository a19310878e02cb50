import { expect } from 'chai'
import type { WebhookId } from '../../../src/shared/platform/ids.ts'
import { parseId } from '../../../src/shared/platform/ids.ts'
import { createSecretBox, shownSecret } from '../../../src/shared/webhooks/secrets.ts'
import {
  createWebhook,
  makeCallbackSecret,
  resealSecrets,
  rotateWebhook,
  showCallbackSecret,
} from '../../../src/shared/webhooks/webhooks.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import { useDb } from '../../support/database.ts'

const SECRET = 'a secret of the tests, long enough for it'
const box = createSecretBox({ APP_SECRET: SECRET })

describe('a signing secret', () => {
  const db = useDb({ isOwn: true })

  it('rests encrypted, for its own webhook, and anew when APP_SECRET is replaced', async () => {
    const account = await anAccount(db)
    const { webhook, secret } = await createWebhook(db, box, account.id, { url: 'https://one.example', types: [] })
    const id = parseId('webhook', webhook.id)!
    const plain = Buffer.from(secret.slice('whsec_'.length), 'base64')
    const stored = async () => (await db('webhooks').where({ id }).first<{ secret: Buffer }>('secret')).secret
    const before = await stored()
    expect(before.includes(plain)).to.equal(false)
    expect(box.open(id, before)).to.deep.equal(plain)
    expect(box.open(parseId('webhook', `wh_${'0'.repeat(32)}`)!, before)).to.equal(null)
    const next = createSecretBox({ APP_SECRET: `${SECRET} 2`, APP_SECRET_PREVIOUS: SECRET })
    expect(next.open(id, before)).to.deep.equal(plain)
    expect(await resealSecrets(db, next)).to.equal(1)
    expect(await resealSecrets(db, next)).to.equal(0)
    expect(createSecretBox({ APP_SECRET: `${SECRET} 2` }).open(id, await stored())).to.deep.equal(plain)
    expect(box.open(id, await stored())).to.equal(null)
  })

  it('of callbacks is shown once, also where a call made it first, and by a rotation', async () => {
    const account = await anAccount(db)
    await makeCallbackSecret(db, box, account.id)
    const before = await db('webhooks').where({ account_id: account.id }).first<{ secret: Buffer }>('secret')
    await makeCallbackSecret(db, box, account.id)
    const shown = await Promise.all([1, 2, 3].map(() => showCallbackSecret(db, box, account.id)))
    const [secret, ...others] = shown.filter((one) => one !== null)
    expect(others).to.deep.equal([])
    const row = await db('webhooks').where({ account_id: account.id }).first<{ id: WebhookId; secret: Buffer }>()
    expect(row.secret, 'the one that signs').to.deep.equal(before.secret)
    expect(secret).to.equal(shownSecret(box.open(row.id, row.secret)!))
    const other = await anAccount(db)
    await makeCallbackSecret(db, box, other.id)
    expect(await rotateWebhook(db, box, other.id, 'callback')).to.match(/^whsec_/)
    expect(await showCallbackSecret(db, box, other.id)).to.equal(null)
  })
})
