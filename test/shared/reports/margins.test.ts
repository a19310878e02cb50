import { expect } from 'chai'
import { reportCommands } from '../../../src/admin/commands/reports.ts'
import { CommandError } from '../../../src/admin/command.ts'
import { marginCsv } from '../../../src/shared/reports/margin-csv.ts'
import { marginsByDay } from '../../../src/shared/reports/margins.ts'
import type { MarginRow } from '../../../src/shared/reports/margins.ts'
import { gatewayError } from '../../../src/shared/platform/errors.ts'
import { connectTestDb, newDatabaseUrl } from '../../../scripts/harness/database.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import { withinOneDay } from '../../support/one-day.ts'
import { storeVersion } from '../../../src/shared/catalogue/versions.ts'
import { aResult, callIdAt, opened, verbs } from '../calls/opening.ts'
import { useDb } from '../../support/database.ts'

const HEADER = 'day,model,upstream,calls,credits,revenue_micro_usd,cost_micro_usd,calls_of_unknown_cost'

describe('the margins of calls', () => {
  // A database of its own: they are those of all accounts.
  const db = useDb({ isOwn: true })
  let today: string
  before(async () => {
    await withinOneDay()
    today = new Date().toISOString().slice(0, 10)
    const calls = verbs(db)
    const account = await anAccount(db, 10_000)
    const ended = async (model: string, upstream: string, costMicroUsd: number | null, at = new Date()) => {
      const id = await opened(calls, account, 40, { model, id: callIdAt(at) })
      await calls.begin(id)
      await calls.settle(id, 'image', { ...aResult(40), upstream, costMicroUsd })
    }
    await ended('a', 'one', 30_000)
    await ended('a', 'one', 50_000)
    await ended('a', 'two', null)
    await ended('with "quotes", and commas', 'one', null)
    await ended('a', 'one', 1, new Date(Date.now() - 3 * 86_400_000))
    const failed = await opened(calls, account, 40, { model: 'a' })
    await calls.begin(failed)
    await calls.refund(failed, gatewayError('upstream_failed'), { costMicroUsd: 700 })
    await calls.refund(await opened(calls, account, 40, { model: 'a' }), gatewayError('upstream_failed'))
    await opened(calls, account, 40, { model: 'a' })
  })

  const margins = (worth: number | null): Promise<MarginRow[]> => marginsByDay(db, { from: today, to: today }, worth)
  const report = (options: Record<string, string> = {}) => reportCommands[0]!.run(db, [], options)

  it('are told by group, too: that of each call when it was opened', async () => {
    const other = connectTestDb({ DATABASE_URL: await newDatabaseUrl(), DATABASE_SSL: 'off', DATABASE_POOL: 4 })
    const calls = verbs(other)
    for (const [group, credits] of [
      ['partner', 32],
      [null, 40],
      ['partner', 32],
    ] as const) {
      const account = await anAccount(other, 100)
      await other('accounts').where({ id: account.id }).update({ group_name: group })
      const id = await opened(calls, account, credits, { model: 'a', group })
      await calls.begin(id)
      await calls.settle(id, 'image', { ...aResult(credits), upstream: 'one', costMicroUsd: 5 })
      await other('accounts').where({ id: account.id }).update({ group_name: null })
    }
    const rows = await marginsByDay(other, { from: today, to: today }, 1000, true)
    expect(rows.map(({ group, calls: made, credits }) => ({ group, made, credits }))).to.deep.equal([
      { group: null, made: 1, credits: 40 },
      { group: 'partner', made: 2, credits: 64 },
    ])
    const { text } = await reportCommands[0]!.run(other, [], { csv: 'yes', 'by-group': 'yes' })
    expect(text.split('\n')[0]).to.equal(HEADER.replace('upstream', 'upstream,group'))
    expect(text.split('\n')[2]).to.equal(`${today},a,one,partner,2,64,,10,0`)
    const lines = (await reportCommands[0]!.run(other, [], { 'by-group': 'yes' })).text.split('\n')
    expect(lines[0]).to.include('one  -  1 calls')
    expect(lines[1]).to.include('one  partner  2 calls')
    await other.destroy()
  })

  it('are the calls that ended, by day, model and upstream; a cost that is unknown is no cost of nothing', async () => {
    const row = { day: today, model: 'a', calls: 1, credits: 40, revenueMicroUsd: 40_000 }
    expect(await margins(1000)).to.deep.equal([
      // One that failed at a known cost, and one that was never sent.
      { ...row, upstream: null, calls: 2, credits: 0, revenueMicroUsd: 0, costMicroUsd: 700, callsOfUnknownCost: 0 },
      {
        ...row,
        upstream: 'one',
        calls: 2,
        credits: 80,
        revenueMicroUsd: 80_000,
        costMicroUsd: 80_000,
        callsOfUnknownCost: 0,
      },
      { ...row, upstream: 'two', costMicroUsd: null, callsOfUnknownCost: 1 },
      { ...row, model: 'with "quotes", and commas', upstream: 'one', costMicroUsd: null, callsOfUnknownCost: 1 },
    ])
  })

  it('have no revenue while nobody says what a credit is worth', async () => {
    for (const { revenueMicroUsd } of await margins(null)) expect(revenueMicroUsd).to.equal(null)
    expect((await report()).text).to.match(/no creditMicroUsd/)
  })

  it('are exported as CSV, with unknown values empty', async () => {
    const lines = marginCsv(await margins(1000)).split('\n')
    expect(lines).to.deep.equal([
      HEADER,
      `${today},a,,2,0,0,700,0`,
      `${today},a,one,2,80,80000,80000,0`,
      `${today},a,two,1,40,40000,,1`,
      `${today},"with ""quotes"", and commas",one,1,40,40000,,1`,
    ])
    expect(marginCsv([])).to.equal(HEADER)
  })

  it('are what the command reports, of the days that are asked for', async () => {
    await storeVersion(db, 0, { content: { creditMicroUsd: 2000 }, source: 'file', operator: null, note: null })
    const { json, text } = await report({ csv: 'yes' })
    expect(json).to.deep.include({ to: today, creditMicroUsd: 2000 })
    const lines = text.split('\n')
    expect(lines[0]).to.equal(HEADER)
    expect(lines).to.include(`${today},a,one,2,80,160000,80000,0`)
    expect(lines, 'thirty days').to.have.lengthOf(6)
    expect((await report({ from: today, csv: 'yes' })).text.split('\n')).to.have.lengthOf(5)
    expect((await report()).text).to.match(/7 calls, 200 credits, revenue \$0.40, cost \$0.08, 2 calls of unknown cost/)
    for (const bad of [{ from: 'yesterday' }, { to: '2030-02-31' }, { from: '2030-01-02', to: '2030-01-01' }]) {
      const refused = await report(bad as Record<string, string>).catch((error: unknown) => error)
      expect(refused, JSON.stringify(bad)).to.be.an.instanceOf(CommandError)
    }
  })
})
