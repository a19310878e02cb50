import { expect } from 'chai'
import { encodeForm, textsOf } from '../../../src/workers/upstreams/multipart.ts'
import { partOf } from '../../../src/workers/upstreams/references.ts'

describe('a form for an upstream', () => {
  it('has every text with its own line breaks, and a picture in pieces, and states its exact length', async () => {
    const pieces = [Buffer.from('first '), Buffer.from('second')]
    const { headers, body } = encodeForm([
      ...textsOf({ prompt: 'one\ntwo\r\nthree', n: 2, absent: undefined }),
      partOf('image', { pieces, contentType: 'image/png', extension: 'png' }),
    ])
    const bytes = Buffer.concat(await body.toArray())
    expect(Number(headers['content-length'])).to.equal(bytes.length)
    const boundary = headers['content-type'].split('boundary=')[1]!
    const parts = bytes.toString().split(`--${boundary}`)
    expect(parts).to.deep.equal([
      '',
      '\r\nContent-Disposition: form-data; name="prompt"\r\n\r\none\ntwo\r\nthree\r\n',
      '\r\nContent-Disposition: form-data; name="n"\r\n\r\n2\r\n',
      '\r\nContent-Disposition: form-data; name="image"; filename="image.png"\r\nContent-Type: image/png\r\n\r\n' +
        'first second\r\n',
      '--\r\n',
    ])
  })
})
