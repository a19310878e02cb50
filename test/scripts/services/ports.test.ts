import { expect } from 'chai'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo, Server } from 'node:net'
import { freePort, isFree } from '../../../scripts/services/ports.ts'

async function listener(host: string): Promise<{ server: Server; port: number }> {
  const server = createServer().listen(0, host)
  await once(server, 'listening')
  return { server, port: (server.address() as AddressInfo).port }
}

describe('ports', () => {
  it('gives the next free one when the first is taken, on loopback only or on every address', async () => {
    for (const host of ['127.0.0.1', '0.0.0.0']) {
      const { server, port } = await listener(host)
      try {
        expect(await isFree(port)).to.equal(false)
        expect(await freePort(port)).to.be.greaterThan(port)
      } finally {
        server.close()
      }
    }
  })

  it('gives the first one when it is free', async () => {
    const { server, port } = await listener('127.0.0.1')
    server.close()
    await once(server, 'close')
    expect(await freePort(port)).to.equal(port)
  })
})
