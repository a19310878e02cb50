import { expect } from 'chai'
import type { Catalogue } from '../../../scripts/harness/harness.ts'
import { send } from '../../../scripts/harness/http.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { parseId } from '../../../src/shared/platform/ids.ts'
import { setAccountRole } from '../../../src/shared/operators/changes.ts'
import type { Person } from '../../support/console.ts'
import { aPerson, PASSWORD, useConsole } from '../../support/console.ts'
import { readVersion } from '../../../src/shared/catalogue/versions.ts'

describe('the catalogue, for operators', () => {
  const web = useConsole({ LOGIN_RATE_LIMIT: '3' })

  async function anOperator(): Promise<Person> {
    const person = await aPerson(web)
    await setAccountRole(web.db, null, parseId('account', person.id)!, 'admin')
    return person
  }

  const PATH = '/api/operator/catalogue'

  describe('/api/operator/catalogue', () => {
    let operator: Person
    before(async () => {
      operator = await anOperator()
    })

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

  const SECRET = 'Bearer very-secret-header'
  const MASK = '•••'
  const OTHER = { protocol: 'openai', baseUrl: 'http://127.0.0.1:9/v1', headers: { Authorization: SECRET } }

  describe('the upstreams of /api/operator/catalogue', () => {
    let operator: Person
    beforeEach(async () => {
      operator = await anOperator()
      await apply(({ upstreams: { other: _other, ...upstreams }, ...rest }) => ({ ...rest, upstreams }), {})
    })

    type Content = { upstreams: Record<string, Record<string, unknown>>; models: Record<string, unknown>[] }
    const shown = async (): Promise<{ version: number; catalogue: Content }> =>
      (await web.get(PATH, operator.token)).json as { version: number; catalogue: Content }
    const post = (path: string, body: object): Promise<Reply> =>
      send('POST', `${web.url}${PATH}${path}`, { key: operator.token, body })
    const withOther = ({ upstreams, ...rest }: Content, other: object): Content => ({
      ...rest,
      upstreams: { ...upstreams, other: other as Record<string, unknown> },
    })
    const apply = async (change: (catalogue: Content) => Content, more: object = { password: PASSWORD }) => {
      const { version, catalogue } = await shown()
      return post('', { catalogue: change(catalogue), expect: version, ...more })
    }
    const add = () => apply((catalogue) => withOther(catalogue, OTHER))
    const stored = async (): Promise<unknown> =>
      ((await readVersion(web.db, 'newest'))!.content as Content).upstreams['other']?.['headers']

    it('change only with the password of whoever changes them, and prices without it', async () => {
      const { version } = await shown()
      for (const more of [{}, { password: 'wrong password 1' }]) {
        const refused = await apply((catalogue) => withOther(catalogue, OTHER), more)
        expect([refused.status, refused.json.error], refused.text).to.deep.equal([400, 'wrong_password'])
      }
      expect((await shown()).version).to.equal(version)
      expect((await add()).status).to.equal(200)
      const moved = await apply((catalogue) => withOther(catalogue, { ...OTHER, baseUrl: 'http://127.0.0.1:8/v1' }), {})
      expect([moved.status, moved.json.error]).to.deep.equal([400, 'wrong_password'])
      const cheaper = await apply(
        ({ models, ...rest }) => ({
          ...rest,
          models: models.map((model) => (model['id'] === 'sandbox-image' ? { ...model, credits: 41 } : model)),
        }),
        {},
      )
      expect(cheaper.status, cheaper.text).to.equal(200)
      const removed = await apply(
        ({ upstreams: { other: _other, ...upstreams }, ...rest }) => ({ ...rest, upstreams }),
        {},
      )
      expect(removed.status, removed.text).to.equal(200)
    })

    it('need the password to come back by a version from before, too', async () => {
      const { version } = await shown()
      await add()
      const old = await apply(({ upstreams: { other: _other, ...upstreams }, ...rest }) => ({ ...rest, upstreams }), {})
      const path = `/versions/${version + 1}/rollback`
      const refused = await post(path, { expect: old.json.version })
      expect([refused.status, refused.json.error]).to.deep.equal([400, 'wrong_password'])
      const shownBack = await web.get(`${PATH}/versions/${version + 1}`, operator.token)
      expect(shownBack.json).to.include({ needsPassword: true })
      expect((await post(path, { expect: old.json.version, password: PASSWORD })).status).to.equal(200)
      expect(await stored()).to.deep.equal(OTHER.headers)
    })

    it('leave few guesses at the password', async () => {
      const guesses: number[] = []
      for (let guess = 0; guess < 4; guess++)
        guesses.push((await apply((catalogue) => withOther(catalogue, OTHER), { password: `guess ${guess}` })).status)
      expect(guesses).to.deep.equal([400, 400, 400, 429])
    })

    it('never show the values of their headers, wherever an operator looks', async () => {
      const added = await add()
      const changed = await apply((catalogue) =>
        withOther(catalogue, { ...OTHER, headers: { Authorization: `${SECRET}-2`, 'X.Y': SECRET } }),
      )
      const { version, catalogue } = await shown()
      const answers = [
        added,
        changed,
        await post('/check', { catalogue: withOther(catalogue, { ...OTHER, headers: { Authorization: SECRET } }) }),
        await post('', { catalogue, expect: version - 1 }),
        await web.get(PATH, operator.token),
        await web.get(`${PATH}/versions`, operator.token),
        await web.get(`${PATH}/versions/${version - 1}`, operator.token),
        await web.get('/api/operator/actions', operator.token),
        await web.get('/api/operator/exports/actions', operator.token),
      ]
      for (const answer of answers) expect(answer.text).not.to.include('very-secret')
      expect(catalogue.upstreams['other']!['headers']).to.deep.equal({ Authorization: MASK, 'X.Y': MASK })
      expect(changed.json.changes[0].fields).to.deep.equal([
        { path: 'headers.Authorization', before: MASK, after: MASK },
        { path: 'headers.X.Y', before: null, after: MASK },
      ])
    })

    it('keep the value of a header whose mask is applied', async () => {
      await add()
      const done = await apply((catalogue) => withOther(catalogue, { ...catalogue.upstreams['other'], concurrency: 5 }))
      expect(done.status, done.text).to.equal(200)
      expect(await stored()).to.deep.equal(OTHER.headers)
      const same = await apply((catalogue) => catalogue, {})
      expect(same.json.changes).to.deep.equal([])
    })

    it('take no mask that stands for nothing, and none to another address', async () => {
      const unknown = await apply((catalogue) => withOther(catalogue, { ...OTHER, headers: { Authorization: MASK } }))
      expect([unknown.status, unknown.json.message]).to.satisfy(
        ([status, message]: [number, string]) =>
          status === 400 && message.includes('upstreams.other.headers.Authorization'),
      )
      await add()
      const away = (catalogue: Content) =>
        withOther(catalogue, { ...catalogue.upstreams['other'], baseUrl: 'https://elsewhere.example/v1' })
      const moved = await apply(away)
      expect(moved.status).to.equal(400)
      expect(moved.json.message).to.match(/upstreams\.other\.headers\.Authorization: needs its value/)
      const { catalogue } = await shown()
      const { faults } = (await post('/check', { catalogue: away(catalogue) })).json
      expect(faults).to.deep.equal([
        { path: 'upstreams.other.headers.Authorization', message: 'needs its value: baseUrl has changed' },
      ])
      const renamed = await apply(({ upstreams: { other, ...upstreams }, ...rest }) => ({
        ...rest,
        upstreams: { ...upstreams, thief: { ...other, baseUrl: 'https://elsewhere.example/v1' } },
      }))
      expect(renamed.status).to.equal(400)
      expect(await stored()).to.deep.equal(OTHER.headers)
    })

    it('are recorded with what changed', async () => {
      await add()
      const { data } = (await web.get('/api/operator/actions?action=catalogue_applied', operator.token)).json
      expect(data[0].details.changes).to.match(/^\+ upstream other: .*"baseUrl":"http:\/\/127.0.0.1:9\/v1"/)
      expect(data[0].details.changes).to.include(MASK)
    })
  })
})
