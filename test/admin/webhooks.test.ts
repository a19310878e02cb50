import { expect } from 'chai'
import type { Options } from '../../src/admin/command.ts'
import { CommandError } from '../../src/admin/command.ts'
import { webhookCommands } from '../../src/admin/commands/webhooks.ts'
import type { Db } from '../../src/shared/platform/postgres/db.ts'
import { OPERATOR_TYPES } from '../../src/shared/webhooks/types.ts'
import { createWebhook } from '../../src/shared/webhooks/webhooks.ts'
import { createSecretBox } from '../../src/shared/webhooks/secrets.ts'
import { connectTestDb, newDatabaseUrl } from '../../scripts/harness/database.ts'
import { anAccount } from '../../scripts/harness/factories.ts'

const APP_SECRET = 'a secret of the tests, long enough for it'

describe('admin webhook', () => {
  let db: Db
  const inherited = process.env.APP_SECRET
  before(async () => {
    process.env.APP_SECRET = APP_SECRET
    db = connectTestDb({ DATABASE_URL: await newDatabaseUrl(), DATABASE_SSL: 'off', DATABASE_POOL: 3 })
  })
  after(async () => {
    if (inherited === undefined) delete process.env.APP_SECRET
    else process.env.APP_SECRET = inherited
    await db.destroy()
  })

  const run = async (name: string, args: string[] = [], options: Options = {}) =>
    (await webhookCommands.find(({ usage }) => usage.startsWith(`webhook ${name}`))!.run(db, args, options)).json as {
      webhook: { id: string; url: string; types: string[] }
      webhooks: { id: string }[]
      secret: string
      delivery: string
      deliveries: { id: string }[]
    }
  const refusal = async (work: Promise<unknown>): Promise<string> => {
    const error = await work.then(
      () => null,
      (thrown: unknown) => thrown,
    )
    expect(error).to.be.instanceOf(CommandError)
    return (error as Error).message
  }

  it('adds one for all types of the house or for some, tests it, rotates its secret, and removes it', async () => {
    const { webhook, secret } = await run('add', ['https://house.example/events'])
    expect(webhook.types).to.deep.equal([...OPERATOR_TYPES])
    const some = await run('add', ['https://house.example/'], { types: 'mail.dead' })
    expect(some.webhook.types).to.deep.equal(['mail.dead'])
    expect((await run('list')).webhooks.map(({ id }) => id)).to.deep.equal([webhook.id, some.webhook.id])
    const { delivery } = await run('test', [webhook.id])
    expect(delivery).to.match(/^whd_/)
    expect((await run('deliveries', [webhook.id])).deliveries.map(({ id }) => id)).to.deep.equal([delivery])
    expect(await run('redeliver', [webhook.id, delivery])).to.deep.equal({ redelivered: true })
    expect(await refusal(run('redeliver', [some.webhook.id, delivery]))).to.include('no delivery')
    expect(await refusal(run('redeliver', [webhook.id, 'nonsense']))).to.include('not the id')
    expect((await run('rotate', [webhook.id])).secret)
      .to.match(/^whsec_/)
      .and.not.equal(secret)
    for (const { id } of [webhook, some.webhook]) await run('remove', [id])
    expect((await run('list')).webhooks).to.deep.equal([])
  })

  it("refuses other types, addresses that are not public, and an account's webhook", async () => {
    expect(await refusal(run('add', ['https://house.example/'], { types: 'call.succeeded' }))).to.include('--types')
    expect(await refusal(run('add', ['https://127.0.0.1/']))).to.include('address')
    const account = await anAccount(db)
    const fields = { url: 'https://receiver.example/', types: ['chat'] }
    const { webhook } = await createWebhook(db, createSecretBox({ APP_SECRET }), account.id, fields)
    for (const name of ['enable', 'rotate', 'test', 'deliveries', 'redeliver', 'remove']) {
      expect(await refusal(run(name, [webhook.id])), name).to.include('no webhook')
      expect(await refusal(run(name, ['nonsense'])), name).to.include('not the id')
    }
  })
})
