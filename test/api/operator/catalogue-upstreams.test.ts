import { expect } from 'chai'
import { send } from '../../../scripts/harness/http.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { readVersion } from '../../../src/shared/catalogue/versions.ts'
import { parseId } from '../../../src/shared/platform/ids.ts'
import { setAccountRole } from '../../../src/shared/operators/changes.ts'
import type { Person, TestConsole } from '../../support/console.ts'
import { PASSWORD, aPerson, consoleConfig, startConsole } from '../../support/console.ts'

const PATH = '/api/operator/catalogue'
const SECRET = 'Bearer very-secret-header'
const MASK = '•••'
const OTHER = { protocol: 'openai', baseUrl: 'http://127.0.0.1:9/v1', headers: { Authorization: SECRET } }

describe('the upstreams of /api/operator/catalogue', () => {
  let web: TestConsole
  let operator: Person
  beforeEach(async () => {
    web = await startConsole(await consoleConfig({ LOGIN_RATE_LIMIT: '3' }))
    operator = await aPerson(web)
    await setAccountRole(web.db, null, parseId('account', operator.id)!, 'admin')
  })
  afterEach(() => web.stop())

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
