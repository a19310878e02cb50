import { expect } from 'chai'
import type { Catalogue } from '../../../scripts/harness/harness.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { parseId } from '../../../src/shared/platform/ids.ts'
import { setAccountRole } from '../../../src/shared/operators/changes.ts'
import type { Person } from '../../support/console.ts'
import { aPerson, PASSWORD, useConsole } from '../../support/console.ts'
import { readVersion } from '../../../src/shared/catalogue/versions.ts'

describe('the catalogue, for operators', () => {
  const web = useConsole({ LOGIN_RATE_LIMIT: '3' })

  const PATH = '/api/operator/catalogue'
  let operator: Person
  // Guesses at a password are counted for each person.
  beforeEach(async () => {
    operator = await aPerson(web)
    await setAccountRole(web.db, null, parseId('account', operator.id)!, 'admin')
  })

  type Shown = { version: number; catalogue: Catalogue; by: string; note: string | null }
  const shown = async (): Promise<Shown> => (await web.get(PATH, operator.token)).json as Shown
  const post = (path: string, body: object): Promise<Reply> => web.post(`${PATH}${path}`, body, operator.token)
  /** The catalogue with another price of `sandbox-image`. */
  const priced = ({ models, ...rest }: Catalogue, credits: number): Catalogue => ({
    ...rest,
    models: models.map((model) => (model['id'] === 'sandbox-image' ? { ...model, credits } : model)),
  })

  describe(PATH, () => {
    const listedCredits = async (): Promise<unknown> => {
      const { data } = (await web.get('/api/models', operator.token)).json as { data: Record<string, unknown>[] }
      return data.find(({ id }) => id === 'sandbox-image')?.['credits']
    }

    it('applies a change with its note, serves it at once, and records who did it', async () => {
      const before = await shown()
      const reply = await post('', { catalogue: priced(before.catalogue, 41), expect: before.version, note: 'dearer' })
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
      const same = await post('', { catalogue: priced(before.catalogue, 41), expect: before.version + 1 })
      expect(same.json).to.deep.equal({ ok: true, version: before.version + 1, changes: [] })
    })

    it('lists the versions, shows what rolling back to each would change, and rolls back', async () => {
      const before = await shown()
      await post('', { catalogue: priced(before.catalogue, 70), expect: before.version })
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
    beforeEach(() => apply(without, {}))

    const without = ({ upstreams: { other: _other, ...upstreams }, ...rest }: Catalogue): Catalogue => ({
      ...rest,
      upstreams,
    })
    const withOther = ({ upstreams, ...rest }: Catalogue, other: object): Catalogue => ({
      ...rest,
      upstreams: { ...upstreams, other: other as Record<string, unknown> },
    })
    const apply = async (change: (catalogue: Catalogue) => Catalogue, more: object = { password: PASSWORD }) => {
      const { version, catalogue } = await shown()
      return post('', { catalogue: change(catalogue), expect: version, ...more })
    }
    const add = () => apply((catalogue) => withOther(catalogue, OTHER))
    const headersIn = ({ upstreams }: Catalogue) => (upstreams.other as { headers?: object } | undefined)?.headers
    const stored = async () => headersIn((await readVersion(web.db, 'newest'))!.content as Catalogue)

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
      const cheaper = await apply((catalogue) => priced(catalogue, 41), {})
      expect(cheaper.status, cheaper.text).to.equal(200)
      const removed = await apply(without, {})
      expect(removed.status, removed.text).to.equal(200)
    })

    it('need the password to come back by a version from before, too', async () => {
      const { version } = await shown()
      await add()
      const old = await apply(without, {})
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
      expect(headersIn(catalogue)).to.deep.equal({ Authorization: MASK, 'X.Y': MASK })
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
      const away = (catalogue: Catalogue) =>
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
  })
})
