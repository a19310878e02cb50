import { expect } from 'chai'
import { readPlan, writeDraft } from '../../../src/admin/import/read.ts'
import { hexHashOf } from '../../../src/shared/identity/api-keys.ts'
import { fixture, lines, reasons, rules, useImports } from './reading.ts'

describe('what is read of litellm', () => {
  const { state, path, expectDraft } = useImports()
  // Knex takes a question mark for a place of a value.
  before(() => state.db.raw(fixture('litellm.sql').replaceAll('?', '\\?')))

  it('plans users by the rule of grants, teams and organisations with an owner, and keys by their hashes', async () => {
    const plan = await readPlan('litellm', state.databaseUrl, rules('1000', 'rest'))
    expect(
      lines(plan.users, 'theirId', 'email', 'name', 'grantCredits', 'rateLimit', 'isSuspended', 'isOperator'),
    ).to.deep.equal([
      'default_user_id | null | default_user_id | 0 | null | false | true',
      'u-ann | ann@example.com | Ann | 9699 | 120 | false | false',
      'u-ben | ben@example.com | ben | -2500 | null | false | false',
      'u-cut | cut@example.com | cut | 0 | null | true | false',
    ])
    expect(plan.users.map(({ bcrypt }) => bcrypt !== null)).to.deep.equal([false, true, false, false])
    expect(plan.theirSum).to.deep.equal({ amount: '7.19999999999999996', unit: 'USD' })
    const found = lines(plan.organisations, 'theirId', 'name', 'ownerId', 'members', 'isSuspended', 'tokensPerMinute')
    expect(found).to.deep.equal([
      't-lab | Lab | u-ann | u-ben member 5000 week 1250 | false | 100000',
      't-off | t-off | u-ben |  | true | null',
      'org:o-1 | Org | u-ann |  | false | null',
    ])
    expect(lines(plan.keys, 'name', 'account', 'memberId', 'models', 'budget', 'isDisabled')).to.deep.equal([
      'key 9999 | u-ann | u-ann | null | null | true',
      'key 0002 | t-lab | u-ben | gpt-4o o3 | 3000 day 0 | false',
      'alpha | u-ann | u-ann | null | 20500 month 2500 | false',
      'beta only | t-lab | u-ann | gpt-4o o3 | 100 day 0 | true',
      'org | org:o-1 | null | null | null | true',
      'plain | u-ben | u-ben | null | null | true',
    ])
    const alpha = hexHashOf('sk-litellm-alpha-0000000001')
    expect(
      lines([plan.keys[2]!], 'hash', 'hint', 'expiresAt', 'rateLimit', 'tokensPerMinute', 'maxOutstanding'),
    ).to.deep.equal([`${alpha} | 0001 | 2030-01-02T03:04:05.678Z | 30 | 9000 | 4`])
    expect(reasons(plan.listed)).to.deep.equal([
      'user default_user_id: it has no budget there: it is granted nothing',
      'user u-ann: its budget begins anew every 30d there: only its rest is granted, once',
      'user u-ben: the password is not hashed by bcrypt: set a new one by mail',
      'user u-cut: it has no budget there: it is granted nothing',
      'team t-lab: its budget has no counterpart: what it is granted bounds it',
      'team t-lost: none of its admins is a user: it has nobody to own it, and is not imported',
      'organisation org:o-1: its budget has no counterpart: what it is granted bounds it',
      `key ${alpha}: its aliases of models are not imported`,
      `key ${'c'.repeat(64)}: the period "1h" of its budget has no counterpart: the budget is for a day`,
      `key ${'d'.repeat(64)}: behind "sk-" it has fewer than 16 characters: it cannot be recognised`,
      `key ${'e'.repeat(64)}: it belongs to no user and to no team: it is not imported`,
      `key ${'f'.repeat(64)}: its routes include no calls: it is imported turned off`,
      `key ${hexHashOf('sk-plain-text-key-0000000003')}: it allows no model: it is imported turned off`,
      'end users all of LiteLLM_EndUserTable: end users have no counterpart: they have neither keys nor accounts',
    ])
  })

  it('grants a number of credits to each, or nothing, as the rules state', async () => {
    for (const [grant, credits] of [
      [7n, 7n],
      [0n, 0n],
      [null, 0n],
    ] as const) {
      const { users, listed } = await readPlan('litellm', state.databaseUrl, rules('1000', grant))
      expect(new Set(users.map(({ grantCredits }) => grantCredits)), String(grant)).to.deep.equal(new Set([credits]))
      expect(listed.some(({ what }) => what === 'balances')).to.equal(grant === null)
    }
  })

  it('drafts models that are sold at cost, with the keys as variables', async () => {
    const out = path('draft')
    const to = { folder: out, withSecrets: false }
    const draft = await writeDraft('litellm', state.databaseUrl, rules('1000'), to)
    await expectDraft(out, 'litellm.draft.json')
    expect(draft.variables).to.deep.equal(['OPENAI_API_KEY', 'UPSTREAM_EU_EXAMPLE_COM_KEY_1', 'ANTHROPIC_API_KEY'])
    expect(reasons(draft.listed)).to.deep.equal([
      'model bedrock (m4): the provider bedrock has no protocol here',
      'model locked (m5): its parameters are encrypted: see docs/migrating.md#litellm-models',
      'model voice (m6): models of the kind audio_speech have prices of another form: write it by hand',
      'model claude: its price of output is not stored: the model is off until you set "output"',
    ])
  })
})
