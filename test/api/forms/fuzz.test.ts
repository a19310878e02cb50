import { connect } from 'node:net'
import { expect } from 'chai'
import fc from 'fast-check'
import { until } from '../../../scripts/harness/until.ts'
import type { FormServer } from './form-server.ts'
import { startFormServer, uploadsLeft } from './form-server.ts'

const FORM = {
  files: { file: { most: 1, maxBytes: 2000 }, image: { most: 3, maxBytes: 1000 } },
  maxFileBytes: 3000,
  lists: ['words'],
}

const name = fc.constantFrom(
  'file',
  ...'file[] image image[] words[] model'.split(' '),
  '',
  '__proto__',
  'x'.repeat(3000),
  'a"b',
  'a\r\nb',
)

const head = fc.oneof(
  fc
    .tuple(name, fc.boolean())
    .map(([field, isFile]) =>
      Buffer.from(`Content-Disposition: form-data; name="${field}"${isFile ? '; filename="a.wav"' : ''}\r\n\r\n`),
    ),
  fc
    .tuple(name, fc.constantFrom('x'.repeat(30_000), '', '../../etc/passwd'))
    .map(([field, file]) =>
      Buffer.from(
        `content-disposition: form-data; name=${field}; filename="${file}"\r\nContent-Type: a/b; charset=x\r\n\r\n`,
      ),
    ),
  fc.nat(200).map((count) => Buffer.from(`${'X-Y: z\r\n'.repeat(count)}\r\n`)),
  fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
)

const part = fc
  .tuple(
    fc.constantFrom('--b\r\n', '--b', '\r\n--b\r\n', '--c\r\n', '--b--\r\n', ''),
    head,
    fc.oneof(fc.uint8Array({ maxLength: 1500 }), fc.constant(Buffer.alloc(2500))),
    fc.constantFrom('\r\n', '', '\n'),
  )
  .map(([before, start, body, after]) => Buffer.concat([Buffer.from(before), start, body, Buffer.from(after)]))

const form = fc
  .tuple(fc.array(part, { maxLength: 6 }), fc.constantFrom('--b--\r\n', '--b--', '', '--b'), fc.nat(100))
  .map(([parts, end, cut]) => {
    const bytes = Buffer.concat([...parts, Buffer.from(end)])
    return cut < 20 ? bytes.subarray(0, Math.floor((bytes.length * cut) / 20)) : bytes
  })

describe('a form of chance', () => {
  let server: FormServer
  before(async () => {
    server = await startFormServer(FORM)
  })
  after(() => server.stop())

  /** Sends a form in two writes, and leaves in the middle of some. */
  const sendRaw = (bytes: Buffer, leaves: boolean): Promise<number | null> =>
    new Promise((resolve) => {
      const socket = connect({ host: '127.0.0.1', port: Number(new URL(server.url).port) })
      let answer = ''
      socket.on('data', (data) => (answer += data.toString('latin1')))
      socket.on('error', () => {})
      socket.on('close', () => resolve(answer === '' ? null : Number(answer.slice(9, 12))))
      const type = 'Content-Type: multipart/form-data; boundary=b'
      socket.write(`POST / HTTP/1.1\r\nHost: x\r\n${type}\r\nContent-Length: ${bytes.length}\r\n\r\n`)
      const half = Math.floor(bytes.length / 2)
      socket.write(bytes.subarray(0, half))
      if (leaves) socket.destroySoon()
      else socket.write(bytes.subarray(half))
    })

  it('is answered 200 or 4xx, and leaves no file and no count, of a thousand', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(form, fc.nat(9)), { minLength: 25, maxLength: 25 }), async (forms) => {
        const answers = await Promise.all(
          forms.map(([bytes, chance]) => sendRaw(bytes, chance === 0 && bytes.length > 1)),
        )
        for (const status of answers) expect(status).to.be.oneOf([200, 400, 413, null])
        await until('all are read', () => server.reading() === 0)
        await until('no file is left', () => uploadsLeft().length === 0)
        expect(server.counted()).to.equal(0)
      }),
      { numRuns: 40 },
    )
  }).timeout(240_000)
})
