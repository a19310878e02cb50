import { expect } from 'chai'
import { newId } from '../../../src/shared/platform/ids.ts'
import { parseStorageUrl } from '../../../src/shared/platform/config/addresses.ts'
import {
  contentTypeOf,
  kindOf,
  mediaFile,
  mediaKey,
  mediaName,
  mediaUrl,
  parseDataImage,
  plainImageUrl,
  parseMediaName,
} from '../../../src/shared/media/media.ts'
import { imageUrlProblem } from '../../../src/shared/requests/addresses.ts'

const secret = 'a server secret of at least 32 characters'

describe('media names', () => {
  const call = newId('call')
  const name = mediaName(secret, call, 0, 'png')

  it('are the same for the same call, so that a second collection overwrites the first', () => {
    expect(mediaName(secret, call, 0, 'png')).to.equal(name)
  })

  it('differ by call, by index, by type and by secret', () => {
    const names = [
      name,
      mediaName(secret, newId('call'), 0, 'png'),
      mediaName(secret, call, 1, 'png'),
      mediaName(secret, call, 0, 'jpg'),
      mediaName(`${secret}!`, call, 0, 'png'),
    ]
    expect(new Set(names).size).to.equal(names.length)
  })

  it('have at least 128 bits and nothing of the call', () => {
    expect(name).to.match(/^[\w-]{32}\.png$/)
    expect(name).not.to.contain(call.slice(0, 8))
  })

  it('are parsed again, with their type', () => {
    expect(parseMediaName(name)).to.equal(name)
    expect(contentTypeOf(name)).to.equal('image/png')
    expect([kindOf('gif'), kindOf('mov')]).to.deep.equal(['image', 'video'])
  })

  it('address nothing outside the storage', () => {
    const stem = name.slice(0, 32)
    for (const text of [
      ...(
        `. .. ../secret.png ../${name} ${name}/ /${name} ${stem} ${stem}.svg ${stem}.html ${stem}.PNG ` +
        `${stem}.png.png`
      ).split(' '),
      `${name}\n`,
      `${name}\0`,
      ...`${name}%00 ${stem.slice(1)}.png ${stem}a.png ..%2f${name} ${stem}.constructor`.split(' '),
    ]) {
      expect(parseMediaName(text), JSON.stringify(text)).to.equal(null)
    }
  })

  it('make addresses, paths and keys', () => {
    expect(mediaUrl('https://tollgate.example.com/', name)).to.equal(`https://tollgate.example.com/media/${name}`)
    expect(mediaFile(name)).to.equal(`${name.slice(0, 2)}/${name}`)
    expect(mediaKey('', name)).to.equal(name)
    expect(mediaKey('a/b', name)).to.equal(`a/b/${name}`)
  })
})

describe('STORAGE_URL', () => {
  it('is a folder or a bucket', () => {
    expect(parseStorageUrl('file:.data/media')).to.deep.equal({ kind: 'file', path: '.data/media' })
    expect(parseStorageUrl('file:/var/media')).to.deep.equal({ kind: 'file', path: '/var/media' })
    expect(parseStorageUrl('file:///var/media')).to.deep.equal({ kind: 'file', path: '/var/media' })
    expect(parseStorageUrl('s3://bucket')).to.deep.equal({ kind: 's3', bucket: 'bucket', prefix: '' })
    expect(parseStorageUrl('s3://my.bucket-1/a/b/')).to.deep.equal({ kind: 's3', bucket: 'my.bucket-1', prefix: 'a/b' })
  })

  it('is refused when it is anything else', () => {
    for (const text of [
      '',
      ...'file: file://host/path /var/media s3:bucket s3:// s3://B/x'.split(' '),
      's3://bucket/a b',
      'https://x/y',
    ]) {
      expect(() => parseStorageUrl(text), text).to.throw(TypeError, 'STORAGE_URL')
    }
  })
})

describe('a data URI', () => {
  it('has its type and its base64 text', () => {
    expect(parseDataImage('data:image/webp;base64,AAEC')).to.deep.equal({ contentType: 'image/webp', base64: 'AAEC' })
    expect(parseDataImage('data:image/PNG;base64,AA==')).to.deep.equal({ contentType: 'image/png', base64: 'AA==' })
  })

  it('is sent on in its plainest form, whatever a client made of it', () => {
    for (const [sent, plain] of [
      ['data:image/jpg;base64,AAEC', 'data:image/jpeg;base64,AAEC'],
      ['data:image/png;charset=utf-8;base64,AAEC', 'data:image/png;base64,AAEC'],
      ['data:image/png;name=a.png; BASE64,AAEC', 'data:image/png;base64,AAEC'],
      ['data:image/png;base64,AAEC\r\nAAEC\n', 'data:image/png;base64,AAECAAEC'],
      ['DATA:image/gif;base64,AA', 'data:image/gif;base64,AA=='],
      ['data:image/gif;base64,AAA', 'data:image/gif;base64,AAA='],
      ['https://example.com/a.png', 'https://example.com/a.png'],
    ] as const) {
      expect(plainImageUrl(sent), sent).to.equal(plain)
      expect(imageUrlProblem(sent), sent).to.equal(null)
    }
  })
})
