import { expect } from 'chai'
import { Queue } from 'bullmq'
import { offer, newDatabaseUrl } from '../../../scripts/harness/database.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import type { Catalogue, Gateway } from '../../../scripts/harness/harness.ts'
import { startGateway } from '../../../scripts/harness/harness.ts'
import { post } from '../../../scripts/harness/http.ts'
import { recordOf } from '../../../scripts/harness/calling.ts'
import { until } from '../../../scripts/harness/until.ts'
import { connectPersistent } from '../../../src/shared/platform/redis/redis.ts'
import { readVersion } from '../../../src/shared/catalogue/versions.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import { untilEnded } from '../../support/crash.ts'

describe('a worker whose catalogue is another than that of a call', () => {
  let gateway: Gateway
  before(async () => {
    gateway = await startGateway({ DATABASE_URL: await newDatabaseUrl() }, ({ upstreams }) => {
      upstreams['other'] = upstreams['sandbox']!
    })
  })
  after(() => gateway.stop())

  it('charges and serves it by the version it was opened at, though its model is no longer offered', async () => {
    const { db, config, url } = gateway
    const account = await anAccount(db, 1000)
    await gateway.stopWorker()
    const headers = { prefer: 'respond-async' }
    for (const model of ['sandbox-image', 'sized-image']) {
      const reply = await post(`${url}/v1/images/generations`, account.key, { model, prompt: 'a fox' }, headers)
      expect(reply.status, reply.text).to.equal(202)
    }
    const { version, content } = (await readVersion(db, 'newest'))!
    const next = structuredClone(content) as Catalogue
    next.models = next.models.filter(({ id }) => id !== 'sized-image')
    const upstreams = [{ upstream: 'other', model: 'image-sandbox' }]
    Object.assign(
      next.models.find(({ id }) => id === 'sandbox-image')!,
      { credits: 70, upstreams },
    )
    await offer(config.DATABASE_URL, next)
    await gateway.startWorker()
    await untilEnded(db, account.id)
    const calls = await db('calls').where({ account_id: account.id })
    for (const call of calls)
      expect(call).to.include({ catalogue_version: version, status: 'succeeded', credits: 40, upstream: 'sandbox' })
    await expectBooksToBalance(db)
  })

  it('leaves a call to another worker whose version its own release cannot use, and fails nothing', async () => {
    const { db, config, url } = gateway
    const account = await anAccount(db, 100)
    await gateway.stopWorker()
    const body = { model: 'sandbox-image', prompt: 'a fox' }
    const reply = await post(`${url}/v1/images/generations`, account.key, body, { prefer: 'respond-async' })
    const ofCall = db('calls').where({ account_id: account.id })
    const { version } = await ofCall.clone().first<{ version: number }>('catalogue_version as version')
    const { content } = (await readVersion(db, version))!
    // What a later release may have stored. Versions are append-only: the rule is lifted for the test.
    const store = (text: object) =>
      db.transaction(async (trx) => {
        await trx.raw('ALTER TABLE catalogue_versions DISABLE TRIGGER catalogue_versions_append_only')
        await trx('catalogue_versions')
          .where({ version })
          .update({ content: JSON.stringify(text) })
        await trx.raw('ALTER TABLE catalogue_versions ENABLE TRIGGER catalogue_versions_append_only')
      })
    await store({ shape: 'of a later release' })
    await gateway.startWorker()
    const connection = connectPersistent(config)
    const queue = new Queue('image', { connection, prefix: config.REDIS_PREFIX })
    try {
      await until('the job waits for another worker', async () => (await queue.getDelayedCount()) === 1)
      const call = await ofCall.clone().first<object>()
      expect(call).to.include({ status: 'queued', attempts: 0, credits: 40, error_type: null })
    } finally {
      await queue.close()
      connection.disconnect()
    }
    await store(content as object)
    await untilEnded(db, account.id)
    expect(await recordOf(db, reply)).to.include({ status: 'succeeded', credits: 40 })
    await expectBooksToBalance(db)
  })
})
