import { expect } from 'chai'
import { offer, newDatabaseUrl } from '../../../scripts/harness/database.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import type { Catalogue, Gateway } from '../../../scripts/harness/harness.ts'
import { startGateway } from '../../../scripts/harness/harness.ts'
import { post } from '../../../scripts/harness/http.ts'
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
})
