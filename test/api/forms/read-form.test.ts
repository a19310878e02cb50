import { createHash, randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { expect } from 'chai'
import { until } from '../../../scripts/harness/until.ts'
import { useFor } from '../../support/gateway.ts'
import type { DeclaredForm } from '../../../src/api/forms/declared-form.ts'
import type { FormServer, Read } from './form-server.ts'
import { startFormServer, uploadsLeft } from './form-server.ts'

const KB = 1024
const MB = 1024 * KB

const FORM: DeclaredForm = {
  files: { file: { most: 1, maxBytes: 3 * MB }, image: { most: 3, maxBytes: MB } },
  maxFileBytes: 4 * MB,
  lists: ['words'],
}

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

const part = (head: string, body: string | Buffer): Buffer =>
  Buffer.concat([
    Buffer.from(`--b\r\nContent-Disposition: form-data; ${head}\r\n\r\n`),
    Buffer.from(body),
    Buffer.from('\r\n'),
  ])

const END = Buffer.from('--b--\r\n')

describe('a form', () => {
  const server = useFor(
    () => startFormServer(FORM),
    ({ stop }) => stop(),
  )
  afterEach(async () => {
    await until('all forms are read', () => server.reading() === 0)
    await until('no file is left', () => uploadsLeft().length === 0)
    expect(server.counted()).to.equal(0)
  })

  const sendForm = async (form: FormData): Promise<Read> =>
    (await (await fetch(server.url, { method: 'POST', body: form })).json()) as Read

  const sendBytes = async (body: Buffer, type = 'multipart/form-data; boundary=b', headers = {}): Promise<Read> => {
    const init = { method: 'POST', body: new Uint8Array(body), headers: { 'content-type': type, ...headers } }
    return (await (await fetch(server.url, init)).json()) as Read
  }

  it('gives its texts as an object, and its files in order with their bytes, names and types', async () => {
    const bytes = [randomBytes(2 * MB + 7), randomBytes(10), randomBytes(0), randomBytes(KB)]
    const form = new FormData()
    form.append('model', 'sandbox')
    form.append('file', new Blob([bytes[0]!], { type: 'audio/mpeg' }), 'speech')
    form.append('image', new Blob([bytes[1]!]), '1.png')
    form.append('words[]', 'word')
    form.append('image[]', new Blob([bytes[2]!]), '2.png')
    form.append('words', 'segment')
    form.append('image', new Blob([bytes[3]!]), 'ü.png')
    const { fields } = await sendForm(form)
    const file = (at: number, name: string, type = 'application/octet-stream') => {
      const hash = sha256(bytes[at]!)
      return { name, type, bytes: bytes[at]!.length, sha256: hash, read: hash }
    }
    expect(fields).to.deep.equal({
      model: 'sandbox',
      file: file(0, 'speech', 'audio/mpeg'),
      image: [file(1, '1.png'), file(2, '2.png'), file(3, 'ü.png')],
      words: ['word', 'segment'],
    })
  })

  const big = (bytes: number): Blob => new Blob([Buffer.alloc(bytes)])

  type Part = [name: string, value: string | Blob]
  const files = (name: string, bytes = 1, count = 1): Part[] =>
    Array.from({ length: count }, (): Part => [name, big(bytes)])
  const both = [...files('file', 3 * MB), ...files('image', MB), ...files('image')]
  const REFUSED: [what: string, parts: Part[], param: string | null][] = [
    ['a second file of a name that is there once', files('file', 1, 2), 'file'],
    ['a second file of it with brackets', [...files('file'), ...files('file[]')], 'file'],
    ['a second text of a name', Array.from({ length: 2 }, (): Part => ['model', 'x']), 'model'],
    ['a text in place of a file', [['file', 'x']], 'file'],
    ['a file that it does not have', files('other'), 'other'],
    ['a file named as what every object has', files('__proto__'), '__proto__'],
    ['more files of a name than it has', files('image', 1, 4), 'image'],
    ['more than 128 parts', Array.from({ length: 5000 }, (_, at): Part => [`x${at}`, 'x']), null],
  ]
  const TOO_LARGE: [what: string, parts: Part[], param: null][] = [
    ['a file that is too large', files('image', MB + 1), null],
    ['files that are too large together', both, null],
    ['texts that are too long together', ['model', 'prompt'].map((name): Part => [name, 'x'.repeat(600 * KB)]), null],
  ]
  for (const [what, parts, param] of [...REFUSED, ...TOO_LARGE]) {
    it(`is refused with ${what}`, async () => {
      const form = new FormData()
      for (const [name, value] of parts) {
        if (typeof value === 'string') form.append(name, value)
        else form.append(name, value, 'x')
      }
      const read = await sendForm(form)
      const isTooLarge = TOO_LARGE.some(([one]) => one === what)
      const expected = isTooLarge ? [413, 'payload_too_large', param] : [400, 'invalid_request', param]
      expect([read.status, read.error?.type, read.error?.param], read.error?.message).to.deep.equal(expected)
    })
  }

  it('takes a file of exactly its largest size', async () => {
    const form = new FormData()
    form.append('file', big(3 * MB), 'x')
    form.append('image', big(MB), 'x')
    expect((await sendForm(form)).status).to.equal(200)
  })

  it('takes `__proto__` for a name as any other', async () => {
    const { fields } = await sendBytes(Buffer.concat([part('name="__proto__"', 'x'), END]))
    expect(Object.keys(fields as object)).to.deep.equal(['__proto__'])
  })

  const BROKEN: [what: string, body: Buffer][] = [
    ['without its end', part('name="model"', 'x')],
    ['cut off in a file', Buffer.concat([part('name="file"; filename="x"', 'x')]).subarray(0, -3)],
    ['cut off in a head', Buffer.from('--b\r\nContent-Dispo')],
    ['that is none', Buffer.from('{"model": "x"}')],
    ['of nothing', Buffer.alloc(0)],
    ['with a part without a name', Buffer.concat([part('filename="x"', 'x'), END])],
  ]
  for (const [what, body] of BROKEN) {
    it(`${what} is refused`, async () => {
      const { status, error } = await sendBytes(body)
      expect([status, error?.type]).to.deep.equal([400, 'invalid_request'])
    })
  }

  it('with a head of megabytes is bounded', async () => {
    const head = `name="file"; filename="${'x'.repeat(200 * KB)}"\r\nX-More: ${'y'.repeat(MB)}`
    const { status } = await sendBytes(Buffer.concat([part(head, 'x'), END]))
    expect(status).to.be.oneOf([200, 400])
  })

  it('of another type, without a boundary, or compressed is refused', async () => {
    for (const type of ['application/json', 'multipart/mixed; boundary=b', ''])
      expect((await sendBytes(END, type)).status, type).to.equal(415)
    expect((await sendBytes(END, 'multipart/form-data')).status).to.equal(400)
    expect((await sendBytes(END, undefined, { 'content-encoding': 'gzip' })).status).to.equal(415)
  })

  it('that says or turns out to be longer than it may be is 413', async () => {
    const body = new Blob([part('name="other"', Buffer.alloc(5 * MB))]).stream()
    const headers = { 'content-type': 'multipart/form-data; boundary=b' }
    const response = await fetch(server.url, { method: 'POST', body, duplex: 'half', headers } as RequestInit)
    expect(response.status).to.equal(413)
    expect((await sendBytes(Buffer.alloc(5 * MB + 1))).status).to.equal(413)
  })

  /** Sends the beginning of a form over a connection of its own. */
  function beginForm(at: FormServer, ...parts: Buffer[]): Socket {
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(at.url).port) })
    const type = 'Content-Type: multipart/form-data; boundary=b'
    socket.on('error', () => {})
    socket.write(`POST / HTTP/1.1\r\nHost: x\r\n${type}\r\nContent-Length: ${MB}\r\n\r\n`)
    for (const one of parts) socket.write(one)
    return socket
  }

  const image = (bytes: number): Buffer => part('name="image"; filename="x"', Buffer.alloc(bytes))

  it('takes one descriptor however many files it has, and none before the first byte of a file', async () => {
    const empty = beginForm(server, image(0), image(0))
    await until('the parts come', () => server.counted() === 2 * image(0).length)
    expect(uploadsLeft()).to.deep.equal([])
    const before = server.counted()
    const files = [image(1), image(2), image(3), part('name="file"; filename="x"', 'abcd')]
    const stalled = beginForm(server, ...files)
    const bytes = Buffer.concat(files).length
    await until('the files come', () => uploadsLeft().length > 0 && server.counted() === before + bytes)
    expect(uploadsLeft().length).to.equal(1)
    for (const socket of [empty, stalled]) socket.destroy()
  })

  it('is refused where too many others have a file, until one of them ends', async () => {
    const small = await startFormServer(FORM, { perAccount: 1, perProcess: 1 })
    const stalled = beginForm(small, image(1))
    await until('the file comes', () => uploadsLeft().length === 1)
    const form = () => {
      const data = new FormData()
      data.append('image', new Blob([Buffer.alloc(1)]))
      return fetch(small.url, { method: 'POST', body: data })
    }
    expect((await form()).status).to.equal(429)
    stalled.destroy()
    await until('nothing is left', () => small.reading() === 0)
    expect((await form()).status).to.equal(200)
    await small.stop()
  })

  it('leaves nothing where its client goes away in the middle of a file', async () => {
    const socket = beginForm(server, part('name="file"; filename="x"', Buffer.alloc(200 * KB)))
    await until('the file comes', () => uploadsLeft().length === 1 && server.counted() > 0)
    socket.destroy()
    await until('nothing is left', () => uploadsLeft().length === 0 && server.reading() === 0)
  })
})
