import { expect } from 'chai'
import { forgetKey, nameOfKey, noteKeyState } from '../../../src/shared/operators/key-states.ts'
import { noteKeyFailure } from '../../../src/shared/operators/upstream-keys.ts'
import { connectPersistent } from '../../../src/shared/platform/redis/redis.ts'
import { prompted } from '../../../scripts/harness/calling.ts'
import { anAsker } from '../../support/console.ts'
import { useAccount, useGateway } from '../../support/gateway.ts'
import { aHouse } from '../../shared/webhooks/house.ts'

const PATH = '/api/operator/upstreams'

describe(PATH, () => {
  const gateway = useGateway({ BAD: 'a-bad-key' }, ({ upstreams, models }) => {
    upstreams.pool = {
      ...upstreams.sandbox,
      apiKeyEnv: undefined,
      keys: [
        { name: 'a', apiKeyEnv: 'SANDBOX_API_KEY' },
        { name: 'b', apiKeyEnv: 'BAD' },
      ],
    }
    models.push({ ...models[0], id: 'pool-chat', upstreams: [{ upstream: 'pool', model: 'gpt-pool' }] })
  })
  const account = useAccount(gateway, 100_000)

  it('lists every upstream of the catalogue with its keys, and what is known of each', async () => {
    const { ask } = await anAsker(gateway, 'admin')
    for (const _ of [1, 2, 3]) expect((await account.chat(prompted(), { model: 'pool-chat' })).status).to.equal(200)
    const redis = connectPersistent(gateway.config)
    const limit = { is: 'cooling', reason: 'rate_limited', since: Date.now(), times: 1 } as const
    const until = Date.now() + 60_000
    const ref = { upstream: 'sandbox', key: 'default', model: 'gpt-x' }
    await noteKeyState(redis, gateway.config.REDIS_PREFIX, nameOfKey(ref), { ...limit, until })
    const { json } = await ask('GET', PATH)
    const keysOf = (name: string) => json.data.find(({ upstream }: { upstream: string }) => upstream === name).keys
    expect(json.data.map(({ upstream }: { upstream: string }) => upstream)).to.include.members(
      'pool sandbox unconfigured unreachable'.split(' '),
    )
    expect(keysOf('unconfigured')).to.deep.equal([
      {
        name: 'default',
        variable: 'KEY_THAT_IS_NOT_SET',
        configured: false,
        state: 'ok',
        reason: null,
        until: null,
        models: [],
        calls: 0,
        failures: 0,
      },
    ])
    const [a, b] = keysOf('pool')
    expect(a).to.include({ state: 'ok', calls: 3, failures: 0 })
    expect(b).to.include({ state: 'off', reason: 'refused', calls: 1, failures: 1 })
    const { failures } = json.data.find(({ upstream }: { upstream: string }) => upstream === 'pool')
    expect(failures).to.have.length(1)
    expect(failures[0]).to.include({ upstream: 'pool', key: 'b', status: 401 })
    const { json: called } = await ask('GET', `/api/operator/calls/${failures[0].call}`)
    const tried = called.attempts.map(({ key, status }: { key: string; status: number }) => [key, status])
    expect(tried).to.deep.equal([
      ['b', 401],
      ['a', 200],
    ])
    const iso = new Date(until).toISOString()
    expect(keysOf('sandbox')[0]).to.deep.include({
      state: 'cooling',
      reason: 'rate_limited',
      until: iso,
      models: [{ model: 'gpt-x', state: 'cooling', until: iso }],
    })
    await forgetKey(redis, gateway.config.REDIS_PREFIX, ref)
    redis.disconnect()
  })

  it('switches keys off and on, and tests them, with a record of each', async () => {
    const { ask } = await anAsker(gateway, 'admin')
    const stateOf = async (key: string): Promise<string> => {
      const { json } = await ask('GET', PATH)
      const pool = json.data.find(({ upstream }: { upstream: string }) => upstream === 'pool')
      return pool.keys.find(({ name }: { name: string }) => name === key).state
    }
    expect((await ask('POST', `${PATH}/pool/keys/a/disable`)).status).to.equal(200)
    expect(await stateOf('a')).to.equal('disabled')
    expect((await ask('POST', `${PATH}/pool/keys/a/enable`)).status).to.equal(200)
    expect(await stateOf('a')).to.equal('ok')
    expect((await ask('POST', `${PATH}/pool/keys/a/test`)).json).to.include({ ok: true, status: 200 })
    expect((await ask('POST', `${PATH}/pool/keys/b/test`)).json).to.include({ ok: true, status: 401 })
    expect((await ask('POST', `${PATH}/unconfigured/keys/default/test`)).json).to.include({ ok: true, status: null })
    for (const path of ['pool/keys/c', 'nobody/keys/default'])
      expect((await ask('POST', `${PATH}/${path}/disable`)).status).to.equal(404)
    const actions = (await ask('GET', '/api/operator/actions')).json.data
    expect(actions.map(({ action }: { action: string }) => action)).to.include.members([
      'upstream_key_disabled',
      'upstream_key_enabled',
      'upstream_key_tested',
    ])
  })

  it('notifies operators of a key that is refused', async () => {
    const house = await aHouse(gateway.db)
    const state = { is: 'off', reason: 'refused', since: 0, until: 0, times: 1 } as const
    await noteKeyFailure(gateway.db, { upstream: 'pool', key: 'b' }, state)
    const [told] = await house.told()
    expect(told).to.deep.include({
      type: 'upstream.key.failed',
      data: { upstream: 'pool', key: 'b', reason: 'refused', until: '1970-01-01T00:00:00.000Z' },
    })
    await house.end()
  })
})
