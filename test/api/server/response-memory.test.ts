import { expect } from 'chai'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ResponseMemory, unreadBounds } from '../../../src/api/server/response-memory.ts'
import type { Hold } from '../../../src/api/server/response-memory.ts'

const MEGABYTE = 1024 * 1024

describe('what clients leave unread', () => {
  let responseMemory: ResponseMemory
  let server: Server
  let lost: string[]
  beforeEach(async () => {
    responseMemory = new ResponseMemory(unreadBounds(0))
    lost = []
    server = createServer((req, res) => {
      const account = String(req.headers['x-account'])
      const hold: Hold = responseMemory.hold({ req, res, state: { principal: { accountId: account } } })
      const isTaken = hold.set(Number(req.headers['x-bytes']))
      req.socket.once('close', () => lost.push(account))
      res.writeHead(isTaken ? 200 : 503)
      if (isTaken) res.write('begun')
      else res.end()
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
  })
  afterEach(() => {
    server.closeAllConnections()
    server.close()
  })

  /** An answer of so many bytes that its client does not read to the end. */
  async function leave(account: string, bytes: number): Promise<number> {
    const { port } = server.address() as AddressInfo
    const headers = { 'x-account': account, 'x-bytes': String(bytes) }
    const response = await fetch(`http://127.0.0.1:${port}`, { headers })
    return response.status
  }

  it('is limited for an account, and a new reader does not end an older one of the account', async () => {
    for (let nth = 0; nth < 4; nth++) expect(await leave('a', 8 * MEGABYTE)).to.equal(200)
    expect(await leave('a', 1)).to.equal(503)
    expect(lost).to.deep.equal([])
  })

  it('does not keep other accounts from their answers: the account with most loses its largest', async () => {
    for (const account of ['a', 'b', 'c']) for (const size of [16, 12, 4]) await leave(account, size * MEGABYTE)
    expect(responseMemory.bytes()).to.equal(96 * MEGABYTE)
    expect(await leave('d', 300)).to.equal(200)
    expect(responseMemory.bytes()).to.equal(80 * MEGABYTE + 300)
    expect(await leave('d', 20 * MEGABYTE)).to.equal(200)
    expect(responseMemory.bytes()).to.be.at.most(96 * MEGABYTE)
    expect(lost).to.not.include('d')
  })

  it('is limited for the process, even if no account has more than the one that asks', async () => {
    for (const account of ['a', 'b', 'c']) await leave(account, 32 * MEGABYTE)
    expect(await leave('d', 32 * MEGABYTE)).to.equal(503)
    expect(lost).to.deep.equal([])
  })
})
