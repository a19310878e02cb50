import { expect } from 'chai'
import { bytesOf, sourceOf } from '../../../src/workers/upstreams/media-source.ts'
import { sizeOf } from '../../../src/shared/requests/sizes.ts'
import { addressesIn } from '../../../src/workers/upstreams/tasks/media-address.ts'
import { PIXEL, PIXEL_URI } from '../../support/pixel.ts'

describe('the source of a result', () => {
  it('is base64, or nothing', () => {
    expect(bytesOf(PIXEL)).to.deep.equal({ from: 'bytes', bytes: Buffer.from(PIXEL, 'base64') })
    expect(bytesOf(`${PIXEL.slice(0, 40)}\n${PIXEL.slice(40)}`)).to.deep.equal(bytesOf(PIXEL))
    for (const bad of ['', '====', 'ab*c', 'data:image/png;base64,AAAA', 'é']) {
      expect(() => bytesOf(bad), bad)
        .to.throw()
        .with.property('kind', 'unknown')
    }
  })

  it('is an http address or a data URI, or nothing', () => {
    expect(sourceOf('https://x.test/a.png')).to.deep.equal({ from: 'url', url: 'https://x.test/a.png' })
    expect(sourceOf('https://x.test/a.png', { a: 'b' })).to.deep.equal({
      from: 'url',
      url: 'https://x.test/a.png',
      headers: { a: 'b' },
    })
    expect(sourceOf(PIXEL_URI)).to.deep.equal(bytesOf(PIXEL))
    for (const bad of ['', 'a.png', '//x.test/a.png', 'ftp://x.test/a', 'http://', 'data:text/plain,hi']) {
      expect(() => sourceOf(bad), bad)
        .to.throw()
        .with.property('kind', 'unknown')
    }
  })

  const url = 'https://x.test/a.mp4'
  const OUTPUTS: [output: unknown, found: string | null][] = [
    [url, url],
    [[url, 'https://x.test/b'], url],
    [{ url }, url],
    [{ video: { url } }, url],
    [{ videos: [{ url }] }, url],
    [{ video_url: url }, url],
    [{ output: [{ url }] }, url],
    [['text', url], url],
    [{ seed: 1, video: url }, url],
    ['a poem', null],
    [null, null],
    [{}, null],
    [[], null],
    [{ image: { url } }, null],
    [{ video: { video: { video: { video: { video: url } } } } }, null],
  ]
  for (const [output, found] of OUTPUTS) {
    it(`is ${found === null ? 'not ' : ''}found in ${JSON.stringify(output)}`, () => {
      expect(addressesIn(output, 'video')[0] ?? null).to.equal(found)
    })
  }
})

describe('a resolution', () => {
  const SIZES: [resolution: string | undefined, image: string | undefined, video: string | undefined][] = [
    [undefined, undefined, undefined],
    ['1K', '1024x1024', '1920x1080'],
    ['2k', '2048x2048', '2560x1440'],
    ['4K', '3840x2160', '3840x2160'],
    ['720p', '1280x720', '1280x720'],
    ['1080P', '1920x1080', '1920x1080'],
    ['640X480', '640x480', '640x480'],
    ['16:9', '1536x1024', '1280x720'],
    ['9:16', '1024x1536', '720x1280'],
    ['1:1', '1024x1024', '720x720'],
    ['constructor', 'constructor', 'constructor'],
    ['huge', 'huge', 'huge'],
    ['0', '0', '0'],
  ]
  for (const [resolution, image, video] of SIZES) {
    it(`of ${resolution} is ${image} as an image and ${video} as a video`, () => {
      expect([sizeOf('image', resolution), sizeOf('video', resolution)]).to.deep.equal([image, video])
    })
  }
})
