import { expect } from 'chai'
import type { Catalogue } from '../../../scripts/harness/harness.ts'
import { send } from '../../../scripts/harness/http.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { parseId } from '../../../src/shared/platform/ids.ts'
import { setAccountRole } from '../../../src/shared/operators/changes.ts'
import type { Person, TestConsole } from '../../support/console.ts'
import { aPerson, startConsole } from '../../support/console.ts'

const PATH = '/api/operator/catalogue'

describe('/api/operator/catalogue', () => {
  let web: TestConsole
  let operator: Person
  before(async () => {
    web = await startConsole()
    operator = await anOperator()
  })
  after(() => web.stop())

  async function anOperator(): Promise<Person> {
    const person = await aPerson(web)
    await setAccountRole(web.db, null, parseId('account', person.id)!, 'admin')
    return person
  }

  type Shown = { version: number; catalogue: Catalogue; by: string; note: string | null }
  const shown = async (): Promise<Shown> => (await web.get(PATH, operator.token)).json as Shown
  const post = (path: string, body: object, by = operator): Promise<Reply> =>
    send('POST', `${web.url}${PATH}${path}`, { key: by.token, body })
  /** The catalogue with another price of `sandbox-image`. */
  const priced = ({ catalogue }: Pick<Shown, 'catalogue'>, credits: number): Catalogue => ({
    ...catalogue,
    models: catalogue.models.map((model) => (model['id'] === 'sandbox-image' ? { ...model, credits } : model)),
  })
  const listedCredits = async (): Promise<unknown> => {
    const { data } = (await web.get('/api/models', operator.token)).json as { data: Record<string, unknown>[] }
    return data.find(({ id }) => id === 'sandbox-image')?.['credits']
  }

  it('applies a change with its note, serves it at once, and records who did it', async () => {
    const before = await shown()
    const reply = await post('', { catalogue: priced(before, 41), expect: before.version, note: 'dearer' })
    expect([reply.status, reply.json.version], reply.text).to.deep.equal([200, before.version + 1])
    expect(reply.json.changes).to.have.length(1)
    expect(reply.json.changes[0].fields).to.deep.equal([{ path: 'credits', before: 40, after: 41 }])
    expect(await listedCredits()).to.equal(41)
    expect(await shown()).to.include({ version: before.version + 1, by: operator.email, note: 'dearer' })
    const { data } = (await web.get('/api/operator/actions', operator.token)).json
    expect(data[0]).to.deep.include({
      action: 'catalogue_applied',
      operatorEmail: operator.email,
      details: { version: before.version + 1, note: 'dearer', changes: '~ model sandbox-image credits: 40 → 41' },
    })
    const same = await post('', { catalogue: priced(before, 41), expect: before.version + 1 })
    expect(same.json).to.deep.equal({ ok: true, version: before.version + 1, changes: [] })
  })

  it("refuses the second of two operators with what the first has changed, and loses neither's work", async () => {
    const other = await anOperator()
    const before = await shown()
    const mine = { catalogue: priced(before, 50), expect: before.version }
    const theirs = { catalogue: priced(before, 60), expect: before.version }
    const replies = await Promise.all([post('', mine), post('', theirs, other)])
    expect(replies.map(({ status }) => status)).to.have.members([200, 409])
    const [won, lost] = replies[0]!.status === 200 ? [50, replies[1]!] : [60, replies[0]!]
    expect(lost.json.error).to.equal('conflict')
    expect(lost.json.message).to.include(`sandbox-image credits: 41 → ${won}`)
    expect(lost.json.version).to.equal(before.version + 1)
    expect(lost.json.changes).to.deep.equal([
      {
        part: 'model',
        name: 'sandbox-image',
        change: 'changed',
        fields: [{ path: 'credits', before: 41, after: won }],
      },
    ])
    expect(await listedCredits()).to.equal(won)
  })

  it('names every fault with its path at once, and changes nothing', async () => {
    const before = await shown()
    const bad = priced(before, -1)
    bad.models[0]!['colour'] = 'red'
    bad.models[1]!['upstreams'] = [{ upstream: 'nobody', model: 'm' }]
    const { json } = await post('/check', { catalogue: bad })
    expect(json.faults.map(({ path }: { path: string }) => path)).to.have.members([
      'models[0].colour',
      'models[1].upstreams[0].upstream',
      'models[2].credits',
    ])
    const refused = await post('', { catalogue: bad, expect: before.version })
    expect([refused.status, refused.json.error]).to.deep.equal([400, 'invalid_request'])
    for (const { path } of json.faults) expect(refused.json.message).to.include(path)
    for (const odd of [null, [], 'text', 5, { models: null }, JSON.parse(`${'['.repeat(500)}${']'.repeat(500)}`)])
      expect((await post('', { catalogue: odd, expect: before.version })).status).to.equal(400)
    for (const body of [{ catalogue: before.catalogue }, { expect: before.version }, { catalogue: {}, expect: '1' }])
      expect((await post('', body)).json.error, JSON.stringify(body)).to.equal('invalid_request')
    expect((await shown()).version).to.equal(before.version)
  })

  it('shows what a change would do before it is applied, and what sells below its cost', async () => {
    const before = await shown()
    const next = { ...priced(before, 45), creditMicroUsd: 1000 }
    next.models[3] = {
      ...next.models[3],
      upstreams: [{ upstream: 'sandbox', model: 'video-sandbox', cost: { perCall: 10_000_000 } }],
    }
    const { json } = await post('/check', { catalogue: next })
    expect(json).to.deep.include({ ok: true, version: before.version, faults: [] })
    expect(json.changes.map(({ part, name }: { part: string; name: string }) => `${part} ${name}`)).to.deep.equal([
      'model sandbox-image',
      'model sandbox-video',
      'setting creditMicroUsd',
    ])
    expect(json.losses.map(({ path }: { path: string }) => path)[0]).to.match(/^models\[3\]\.upstreams\[0\]\.cost/)
    expect(json.warnings.map(({ path }: { path: string }) => path)).to.include('upstreams.sandbox')
    expect((await shown()).version).to.equal(before.version)
  })

  it('lists the versions, shows what rolling back to each would change, and rolls back', async () => {
    const before = await shown()
    await post('', { catalogue: priced(before, 70), expect: before.version })
    const { data } = (await web.get(`${PATH}/versions`, operator.token)).json
    expect(data[0]).to.include({ version: before.version + 1, by: operator.email, source: 'page' })
    const older = (await web.get(`${PATH}/versions?before=${before.version}`, operator.token)).json
    expect(older.data[0].version).to.equal(before.version - 1)
    const one = (await web.get(`${PATH}/versions/${before.version}`, operator.token)).json
    expect(one.changes[0].fields[0]).to.include({ path: 'credits', before: 70 })
    const rollback = `/versions/${before.version}/rollback`
    expect((await post(rollback, { expect: before.version })).json.error).to.equal('conflict')
    const back = await post(rollback, { expect: before.version + 1 })
    expect([back.status, back.json.version]).to.deep.equal([200, before.version + 2])
    expect((await shown()).catalogue).to.deep.equal(before.catalogue)
    expect((await post('/versions/999999/rollback', { expect: 1 })).status).to.equal(404)
    for (const odd of ['0', 'x', '1.5', '99999999999'])
      expect((await web.get(`${PATH}/versions/${odd}`, operator.token)).status, odd).to.equal(404)
  })
})
