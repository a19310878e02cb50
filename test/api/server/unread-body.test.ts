import { connect } from 'node:net'
import { expect } from 'chai'
import { CHAT, SPEECH, TRANSCRIPTIONS } from '../../../scripts/harness/calling.ts'
import { exchange } from '../middleware/sockets.ts'
import { useOneAccount, useWeb } from '../../support/gateway.ts'

const BYTES = 28_000_000

describe('a body that is refused before it has come', () => {
  const gateway = useWeb()
  const account = useOneAccount(gateway, 1000)

  const head = (path: string, lines: string[]): string =>
    [`POST ${path} HTTP/1.1`, 'Host: localhost', `Authorization: Bearer ${account.key}`, ...lines, '', ''].join('\r\n')

  /** Sends all of a request, and reads nothing before. */
  function sendFirst(text: string, body: Buffer): Promise<string> {
    const { hostname, port } = new URL(gateway.url)
    return new Promise((resolve, reject) => {
      const socket = connect({ host: hostname, port: Number(port) })
      let answer = ''
      socket.on('error', reject).on('end', () => resolve(answer))
      socket.pause()
      socket.write(text)
      socket.write(body, () => socket.on('data', (data) => (answer += data.toString('latin1'))).resume())
    })
  }

  for (const [path, type] of [
    [CHAT, 'application/json'],
    [SPEECH, 'application/json'],
    [TRANSCRIPTIONS, 'multipart/form-data; boundary=x'],
  ]) {
    it(`lets a client that sends all of it first read why: ${path}`, async () => {
      const lines = [`Content-Type: ${type}`, `Content-Length: ${BYTES}`]
      const answer = await sendFirst(head(path!, lines), Buffer.alloc(BYTES, 'x'))
      expect(answer)
        .to.match(/^HTTP\/1\.1 413 /)
        .and.include('payload_too_large')
      expect(answer).to.match(/^connection: close/im)
    })
  }

  it('ends the connection of a client that sends nothing more', async () => {
    const lines = ['Content-Type: application/json', `Content-Length: ${BYTES}`]
    const { statuses, closed } = await exchange(gateway.url, [head(CHAT, lines)])
    expect([statuses, closed]).to.deep.equal([[413], true])
  })

  it('ends the connection of a client that never ends, however much it sends', async () => {
    const lines = ['Content-Type: application/json', `Content-Length: 1000000000000`]
    const { statuses, closed } = await exchange(gateway.url, [head(CHAT, lines), Buffer.alloc(140_000_000)])
    expect([statuses, closed]).to.deep.equal([[413], true])
  })
})
