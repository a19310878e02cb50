import { expect } from 'chai'
import type { Server } from 'node:http'
import { connect } from 'node:net'
import type { AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import { ConfigError } from '../../../../src/shared/platform/config/config.ts'
import { listenAt } from '../../../../src/shared/platform/http/http-server.ts'

describe('a port for HTTP', () => {
  let server: Server | undefined
  afterEach(() => {
    server?.close()
    server?.closeAllConnections()
    server = undefined
  })

  async function portAt(HOST: string | undefined): Promise<number> {
    server = await listenAt({ HOST }, 0, { request: (_request, response) => response.end() })
    return (server.address() as AddressInfo).port
  }

  const answersAt = (host: string, port: number): Promise<boolean> =>
    new Promise((resolve) => {
      const socket = connect(port, host)
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
      socket.once('connect', () => socket.destroy())
    })

  it('is open at HOST alone', async () => {
    const port = await portAt('127.0.0.1')
    expect([await answersAt('127.0.0.1', port), await answersAt('127.0.0.2', port)]).to.deep.equal([true, false])
  })

  it('is open on all interfaces without HOST, of both families', async () => {
    const port = await portAt(undefined)
    expect([await answersAt('127.0.0.1', port), await answersAt('127.0.0.2', port)]).to.deep.equal([true, true])
    const hasIpv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'))
    expect(await answersAt('::1', port)).to.equal(hasIpv6)
  })

  it('is refused with the name of the variable where HOST is no address of this machine', async () => {
    const refused = await portAt('192.0.2.1').catch((error: unknown) => error)
    expect(refused).to.be.instanceOf(ConfigError)
    expect((refused as Error).message).to.include('HOST')
  })

  it('says by itself that its port is taken', async () => {
    const port = await portAt('127.0.0.1')
    const refused = await listenAt({ HOST: '127.0.0.1' }, port, { request: () => {} }).catch((error: unknown) => error)
    expect(refused).to.include({ code: 'EADDRINUSE' })
  })
})
