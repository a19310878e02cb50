import { expect } from 'chai'
import type { Socket } from 'node:net'
import { openSession } from '../../../src/shared/identity/sessions.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import { get } from '../../../scripts/harness/http.ts'
import type { Program } from '../../../scripts/harness/installation.ts'
import { aStoredChat, neverReads, responsesWithPictures } from '../../support/stored-answers.ts'
import { watched } from '../../support/watched.ts'
import type { Watched } from '../../support/watched.ts'
import { useInstallation } from '../../support/installed.ts'

const MEGABYTE = 1024 * 1024
const MAX_MB = 450
const MAX_MS = 500

describe('the memory of a web process', () => {
  const own = useInstallation({ LOG_LEVEL: 'info' })
  let web: Program
  before(async () => {
    web = await own.start('web')
  })

  const expectBounded = ({ mb, ms }: Watched): void => {
    expect(mb, 'MB').to.be.below(MAX_MB)
    expect(ms, 'ms that /healthz was blocked').to.be.below(MAX_MS)
  }

  it('stays under 450 MB with 16 readers of 4 MB answers and 24 that never read, and answers quickly', async () => {
    const account = await anAccount(own.db, 1000)
    const silent = await anAccount(own.db, 1000)
    const content = `${'a'.repeat(MEGABYTE)}${'é'.repeat(MEGABYTE / 2)}${'"\\'.repeat(MEGABYTE / 2)}`
    const path = await aStoredChat(own.db, account, content)
    const theirs = await aStoredChat(own.db, silent, content)
    const readers: Socket[] = []
    const seen = await watched(web, async () => {
      readers.push(...(await Promise.all(Array.from({ length: 24 }, () => neverReads(web.url, theirs, silent)))))
      const replies = await Promise.all(Array.from({ length: 16 }, () => get(`${web.url}${path}`, account.key)))
      for (const { status, text } of replies) expect([status, text.length > content.length]).to.deep.equal([200, true])
    })
    for (const socket of readers) socket.destroy()
    expectBounded(seen)
  })

  it('stays under 450 MB with readers that do not read the largest answers of every GET', async () => {
    const accounts = await Promise.all(Array.from({ length: 2 }, () => anAccount(own.db, 1000)))
    const { paths } = (await get(`${web.url}/openapi.json`)).json as { paths: Record<string, { get?: object }> }
    const known = Object.keys(paths).filter((path) => paths[path]!.get)
    expect(known).to.include.members(['/v1/responses/{id}/input_items', '/v1/calls/{id}', '/api/exports/calls'])
    const readers: Socket[] = []
    const calls = await responsesWithPictures(own.db, accounts)
    const items: string[] = []
    let last: Awaited<ReturnType<typeof get>>[] = []
    const seen = await watched(web, async () => {
      for (const [at, account] of accounts.entries()) {
        const call = calls[at]!
        const { id: accountId, userId } = account
        const owner = { userId, accountId, passwordHash: 'none', userAgent: '', ip: '' }
        const { token } = (await openSession(own.db, owner))!
        items.push(`/v1/responses/${call.replace('call_', 'resp_')}/input_items`)
        for (const pattern of known) {
          const isResponse = pattern.includes('/responses/')
          const path = pattern.replaceAll(/\{\w+\}/g, isResponse ? call.replace('call_', 'resp_') : call)
          const holder = path.startsWith('/v1') ? account : { key: token }
          const times = isResponse ? 4 : 1
          const begun = Array.from({ length: times }, () => neverReads(web.url, path, holder))
          readers.push(...(await Promise.all(begun)))
        }
      }
      // They wait for their turn behind those of their accounts.
      last = await Promise.all(accounts.map((one, at) => get(`${web.url}${items[at]!}`, one.key)))
    })
    for (const socket of readers) socket.destroy()
    for (const { status } of last) expect(status).to.be.oneOf([200, 503])
    expectBounded(seen)
  })
})
