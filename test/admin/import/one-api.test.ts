import { readFileSync, statSync } from 'node:fs'
import { expect } from 'chai'
import { readPlan, writeDraft } from '../../../src/admin/import/read.ts'
import { hexHashOf } from '../../../src/shared/identity/api-keys.ts'
import { SECRETS, complaintOf, fixture, lines, reasons, rules, useImports } from './reading.ts'

describe('what is read of one-api', () => {
  const { path, file, expectDraft } = useImports()
  let source: string
  before(() => {
    source = file('one-api.db', fixture('one-api.sql'))
  })

  it('plans users, keys and balances exactly, and lists what is odd', async () => {
    const plan = await readPlan('one-api', source, rules('1000'))
    const found = lines(plan.users, 'theirId', 'email', 'name', 'group', 'grantCredits', 'isSuspended', 'isOperator')
    expect(found).to.deep.equal([
      '1 | null | Root | null | 18014398509481 | false | true',
      '2 | alice@example.com | Alice | vip | 2469 | false | false',
      '3 | bob@example.com | bob | null | -1 | true | false',
      '4 | null | Carol | null | 999 | false | false',
    ])
    expect(plan.users.map(({ bcrypt }) => bcrypt !== null)).to.deep.equal([true, true, true, false])
    expect(plan.theirSum).to.deep.equal({ amount: '9007199256475554', unit: 'quota' })
    expect(
      lines(plan.keys, 'theirId', 'account', 'name', 'hint', 'expiresAt', 'models', 'networks', 'budget', 'isDisabled'),
    ).to.deep.equal([
      '1 | 2 | laptop | aaa1 | null | null | null | null | false',
      '2 | 2 | key 2 | bbb2 | 2030-03-17T17:46:40.000Z | gpt-4o o3 | 203.0.113.0/24 10.0.0.7/32 | 1500 total 0 | false',
      '3 | 2 | off | ccc3 | null | null | null | 0 total 0 | true',
      '5 | 3 | nowhere | eee5 | null | null | null | null | true',
    ])
    expect(plan.keys[0]!.hash).to.equal(hexHashOf(`sk-${'A'.repeat(44)}aaa1`))
    expect(reasons(plan.listed)).to.deep.equal([
      'user 4: the password is not hashed by bcrypt: set a new one by mail',
      'user 5: deleted there: neither the user nor their keys are imported',
      'user 6: its quota is not an exact whole number',
      'key 4: behind "sk-" it does not have 16 to 128 letters and digits: it cannot be recognised',
      'key 5: its network "everywhere" is not an address or a range: it is left out',
      'key 5: none of its networks can be read: it is imported turned off',
      'codes all of redemptions: codes are not imported: create new ones by codes create',
    ])
    expect(
      `${reasons(plan.listed).join('')}${lines(plan.keys, 'theirId', 'name', 'hash', 'hint').join('')}`,
    ).not.to.match(SECRETS)
  })

  it('drafts channels, ratios and groups as a catalogue that is valid', async () => {
    const out = path('draft')
    const draft = await writeDraft('one-api', source, rules('1000'), { folder: out, withSecrets: false })
    await expectDraft(out, 'one-api.draft.json')
    expect(draft.variables).to.deep.equal(['CHANNEL_1_KEY', 'CHANNEL_2_KEY', 'CHANNEL_4_KEY'])
    expect(reasons(draft.listed)).to.deep.equal([
      'channel 3: channels of type 3 have no protocol here: it is left out',
      'channel 4: its mapping of models is not JSON: its models are asked by their own names',
      'channel 5: it is off there: it is left out',
      'model claude-opus-4-1: no price of it is stored: save the ratios there once, or write it by hand',
      'model tts-1: it seems to be a model of the kind speech: write its price by hand',
      'model claude-sonnet-4-5: only groups see it there: here accounts without a group see it, too',
      'model claude-opus-4-1: only groups see it there: here accounts without a group see it, too',
      'model claude-sonnet-4-5: its price of output is not stored: the model is off until you set "output"',
    ])
  })
})

describe('what is read of new-api', () => {
  const { path, file, expectDraft } = useImports()
  let source: string
  before(() => {
    source = file('new-api.db', fixture('new-api.sql'))
  })

  it('counts in its own unit of quota, and turns nothing on that was off', async () => {
    const plan = await readPlan('new-api', source, rules('1000'))
    const due = ['1 | 0 | true', '2 | 2000 | false']
    expect(lines(plan.users, 'theirId', 'grantCredits', 'isOperator')).to.deep.equal(due)
    expect(lines(plan.keys, 'theirId', 'models', 'networks', 'budget', 'isDisabled')).to.deep.equal([
      '1 | gpt-4o o3 | 10.0.0.1/32 2001:db8:0:0:0:0:0:0/32 | null | false',
      '2 | null | null | 0 total 0 | true',
      '3 | null | null | null | true',
      '4 | null | null | 0 total 0 | true',
    ])
    expect(reasons(plan.listed)).to.deep.equal([
      'user 2: quota 7 from invitations is not in the balance there, and is not imported',
      'user 3: deleted there: neither the user nor their keys are imported',
      'key 1: its own group "vip" has no counterpart: it is priced as its account is',
      'key 4: it allows no model: it is imported turned off',
      'payments all of top_ups: payments are not imported: only balances are',
    ])
  })

  it('drafts pools without the keys that are off, shares by weight, and secrets only on demand', async () => {
    const out = path('draft')
    const to = { folder: out, withSecrets: true }
    const draft = await writeDraft('new-api', source, rules('1000'), to)
    await expectDraft(out, 'new-api.draft.json')
    expect(statSync(`${out}/secrets.env`).mode & 0o777).to.equal(0o600)
    expect(readFileSync(`${out}/secrets.env`, 'utf8').split('\n')).to.include("CHANNEL_1_KEY_2='sk-pool-3'")
    expect(reasons(draft.listed).join('\n'))
      .to.include('channel 1: keys that are off there are left out')
      .and.include('channel 4: channels of type 41 have no protocol here')
      .and.include('group 团队: its name is not one that groups may have here: it is left out')
      .and.include('option ModelRequestRateLimitGroup: limits of groups are not taken over')
      .and.not.match(SECRETS)
    expect(await complaintOf(writeDraft('new-api', source, rules('1000'), to))).to.match(/already has a draft/)
  })
})
