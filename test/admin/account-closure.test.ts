import { expect } from 'chai'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { accountCommands } from '../../src/admin/commands/accounts.ts'
import { accountClosureCommands } from '../../src/admin/commands/account-closure.ts'
import { createKey } from '../../src/shared/identity/api-keys.ts'
import { createKeyLookup } from '../../src/shared/identity/key-lookup.ts'
import { holdSource, noteOrigin } from '../../src/shared/identity/import-origins.ts'
import { newId, publicId } from '../../src/shared/platform/ids.ts'
import { gatewayError } from '../../src/shared/platform/errors.ts'
import { deduct } from '../../src/shared/ledger/deductions.ts'
import { listActions } from '../../src/shared/action-log/actions.ts'
import { openSession } from '../../src/shared/identity/sessions.ts'
import { parseStorageUrl } from '../../src/shared/platform/config/addresses.ts'
import { mediaFile, parseMediaName } from '../../src/shared/media/media.ts'
import { debtOf } from '../../scripts/harness/factories.ts'
import { image } from '../../scripts/harness/calling.ts'
import { until } from '../../scripts/harness/until.ts'
import { useAccount, useGateway } from '../support/gateway.ts'
import { anOrder, verbs } from '../shared/calls/opening.ts'
import { commandsOver } from '../support/commands.ts'

const COMMANDS = [...accountCommands, ...accountClosureCommands]

describe('the commands for an account over its life', () => {
  const gateway = useGateway()
  const account = useAccount(gateway, 100)

  const { run, refusal } = commandsOver(gateway, COMMANDS)
  const actions = async () =>
    (await listActions(gateway.db, { accountId: account.id }, 10)).map(
      ({ action, operatorEmail }) => `${action} ${operatorEmail}`,
    )
  const session = () => {
    const { userId, id: accountId } = account
    return openSession(gateway.db, { userId, accountId, passwordHash: 'none', userAgent: 'x', ip: '192.0.2.1' })
  }

  it('delete it: nobody makes a key of it any more', async () => {
    await run('account delete', [account.email], { force: 'yes' })
    const made = await createKey(gateway.db, account.id, 'late').catch((error: unknown) => error)
    expect(made).to.include({ code: 'unauthorized' })
  })

  it('delete it: nobody can tell whose it was, its media go, and its ledger and calls stay exact', async () => {
    const made = await image(gateway, account, 'a boat')
    const name = parseMediaName((made.json.data[0].url as string).split('/').at(-1)!)!
    const storage = parseStorageUrl(gateway.config.STORAGE_URL) as { path: string }
    const file = join(storage.path, mediaFile(name))
    await mkdir(dirname(file), { recursive: true })
    if (!existsSync(file)) await writeFile(file, '')
    await session()
    const { email } = account
    const ledger = () => gateway.db('ledger_entries').where({ account_id: account.id }).orderBy('seq')
    const before = await ledger()

    expect(await refusal('account delete', [email])).to.match(/has 60 credits.*--force/)
    const order = anOrder(account, 10)
    expect(await verbs(gateway.db).open(order)).to.include({ opened: true })
    expect(await refusal('account delete', [email], { force: 'yes' })).to.match(
      /^1 calls of the account have not ended/,
    )
    await verbs(gateway.db).refund(order.id, gatewayError('upstream_failed'))
    expect((await run('account delete', [email], { force: 'yes' })).json).to.deep.equal({
      id: publicId('account', account.id),
      deleted: true,
    })

    const user = await gateway.db('users').where({ id: account.userId }).first()
    expect(user).to.include({ email: `deleted-${account.userId}@deleted.invalid`, display_name: '', avatar_url: '' })
    expect(JSON.stringify(await gateway.db('mails').where({ recipient: email }))).to.equal('[]')
    expect(await gateway.db('sessions').where({ user_id: account.userId })).to.deep.equal([])
    expect(await createKeyLookup(gateway.db).find(account.key, '')).to.equal(null)
    expect((await ledger()).slice(0, before.length)).to.deep.equal(before)
    expect(await gateway.db('calls').where({ account_id: account.id })).to.have.lengthOf(2)
    expect(await actions()).to.include('account_deleted null')
    expect(await refusal('account show', [email])).to.match(/^There is no account/)
    expect(await refusal('account activate', [user.email as string])).to.equal('The account was deleted.')
    expect(await refusal('account delete', [user.email as string])).to.equal('The account was deleted already.')
    await until('its media result to be gone', () => !existsSync(file))
    await until('its address to be forgotten', async () => {
      const rows = await gateway.db('calls').where({ account_id: account.id }).whereNotNull('result_url')
      return rows.length === 0
    })
  })

  it('delete it with a debt only if they are forced to', async () => {
    const taken = { accountId: account.id, amount: 130, mayOwe: true, reason: 'a test', key: null }
    await gateway.db.transaction((trx) => deduct(trx, { id: newId('deduction'), ...taken }))
    expect(await refusal('account delete', [account.email])).to.equal(
      'The account has a debt of 30 credits: forgive it (debt forgive), or repeat with --force.',
    )
    await run('account delete', [account.email], { force: 'yes' })
    expect(await debtOf(gateway.db, account.id)).to.equal(30)
  })

  it('export all that is known about it, as lines', async () => {
    await image(gateway, account, 'a boat')
    await session()
    await gateway.db.transaction(async (trx) => {
      await holdSource(trx, { name: 'old', gateway: 'litellm' })
      const origin = { kind: 'user' as const, theirId: account.email, accountId: account.id, userId: account.userId }
      await noteOrigin(trx, 'old', { ...origin, off: false })
    })
    const lines: Record<string, unknown>[] = []
    for await (const line of (await run('account export', [account.email])).lines!) lines.push(line as never)
    const types = new Set(lines.map(({ type }) => type))
    expect([...types]).to.have.members(
      'account key import session secondFactor billing grant ledgerEntry call operatorAction'.split(' '),
    )
    expect(lines[0]).to.include({ type: 'account', email: account.email, credits: 60 })
    expect(JSON.stringify(lines)).not.to.include(account.key)
  })

  it('send the link of a new password, and end sessions, one or all', async () => {
    await run('account password-reset', [account.email])
    await until('the mail to be asked for', () =>
      gateway.db('mails').where({ recipient: account.email, kind: 'reset' }).first(),
    )
    const [first] = [await session(), await session()]
    const { json } = await run('session list', [account.email])
    expect((json as { sessions: object[] }).sessions).to.have.lengthOf(2)
    expect(await refusal('session revoke', [account.email, 'ses_nonsense'])).to.match(/^There is no session/)
    await run('session revoke', [account.email, publicId('session', first!.sessionId)])
    expect(await gateway.db('sessions').where({ user_id: account.userId })).to.have.lengthOf(1)
    await run('session revoke', [account.email, 'all'])
    expect(await gateway.db('sessions').where({ user_id: account.userId })).to.deep.equal([])
    const recorded = ['sessions_revoked null', 'sessions_revoked null', 'password_reset_sent null']
    expect(await actions()).to.deep.equal(recorded)
  })
})
