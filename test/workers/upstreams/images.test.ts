import { expect } from 'chai'
import type { MediaRequest } from '../../../src/shared/requests/requests.ts'
import type { Protocol } from '../../../src/shared/catalogue/catalogue.ts'
import type { DirectMediaAdapter } from '../../../src/workers/upstreams/adapter.ts'
import { FAILURES, failureOf, HASTY, promptOf, startWorld, useWorld, uploading } from './sandbox-upstreams.ts'
import { PIXEL, PIXEL_URI } from '../../support/pixel.ts'
import type { RouteChanges } from './sandbox-upstreams.ts'

const PNG = '89504e470d0a1a0a'

for (const protocol of ['openai', 'gemini', 'openrouter'] satisfies Protocol[]) {
  describe(`images over ${protocol}`, () => {
    const world = useWorld()
    let image: DirectMediaAdapter
    before(() => {
      image = world.upstreams.adapterOf(protocol).image as DirectMediaAdapter
    })

    it('returns the bytes of the image', async () => {
      const [source] = (await image.generate({ prompt: promptOf('a cat') }, world.context(protocol))).files
      expect(source?.from === 'bytes' && Buffer.from(source.bytes).subarray(0, 8).toString('hex')).to.equal(PNG)
    })

    for (const [words, kind] of [...FAILURES, ['[big 97]', 'unknown']] as const) {
      it(`fails as ${kind} when the upstream does ${words}`, async () => {
        expect(await failureOf(image.generate({ prompt: promptOf(words) }, world.context(protocol)))).to.include({
          kind,
        })
      })
    }

    it('accepts an image whose answer is larger than that of a chat may be', async () => {
      const [source] = (await image.generate({ prompt: promptOf('[big 33]') }, world.context(protocol))).files
      expect(source?.from === 'bytes' && source.bytes.length).to.be.greaterThan(24 * 1024 * 1024)
    })
  })
}

describe('an image request to OpenAI', () => {
  const world = useWorld()

  const sent = async (request: Omit<MediaRequest, 'prompt'>, changes?: RouteChanges) => {
    const prompt = promptOf('sent')
    const image = world.upstreams.adapterOf('openai').image as DirectMediaAdapter
    const context = uploading(world.context('openai', changes), image, request.image_url)
    await image.generate({ prompt, ...request }, context)
    const [line] = world.sandbox.journal(prompt)
    return {
      path: line!.path,
      body: line!.body as { [field: string]: unknown; fields: Record<string, unknown>; files: unknown[] },
    }
  }

  it('has the model and a size, and nothing else that was not requested', async () => {
    const { path, body } = await sent({ resolution: '1K' })
    expect(path).to.equal('/v1/images/generations')
    expect(body).to.deep.equal({ model: 'some/model', prompt: body.prompt, size: '1024x1024' })
    expect((await sent({})).body).to.have.all.keys('model', 'prompt')
  })

  it('uploads the image to be edited', async () => {
    const { path, body } = await sent({ image_url: PIXEL_URI, resolution: '9:16' }, { set: { quality: 'high', n: 1 } })
    expect(path).to.equal('/v1/images/edits')
    expect(body.fields).to.include({ model: 'some/model', size: '1024x1536', quality: 'high', n: '1' })
    expect(body.files).to.deep.equal([
      { field: 'image', name: 'image.png', type: 'image/png', bytes: Buffer.from(PIXEL, 'base64').length },
    ])
  })

  it('passes the address on if the route renames it', async () => {
    const { path, body } = await sent({ image_url: PIXEL_URI }, { rename: { image_url: 'image:list' } })
    expect(path).to.equal('/v1/images/generations')
    expect(body.image).to.deep.equal([PIXEL_URI])
  })

  it('is made without the image if the route drops it', async () => {
    expect((await sent({ image_url: PIXEL_URI }, { drop: ['image_url'] })).path).to.equal('/v1/images/generations')
  })

  it('can be answered with an address, which is fetched without the key', async () => {
    const image = world.upstreams.adapterOf('openai').image as DirectMediaAdapter
    const [own] = (await image.generate({ prompt: promptOf('own') }, world.context('openai', { model: 'makes-url' })))
      .files
    expect(own).to.include({ from: 'url' }).and.not.to.have.property('headers')
    const {
      files: [foreign],
    } = await image.generate({ prompt: '[result-url https://files.example.com/a.png]' }, world.context('openai'))
    expect(foreign).to.deep.equal({ from: 'url', url: 'https://files.example.com/a.png' })
  })

  it('times out when the upstream falls silent within its answer', async () => {
    const hasty = await startWorld({ timeouts: HASTY })
    const failures = await Promise.all(
      (['openai', 'openrouter'] as const).flatMap((protocol) => {
        const image = hasty.upstreams.adapterOf(protocol).image as DirectMediaAdapter
        return ['[hang]', '[hang-body]'].map((words) =>
          failureOf(image.generate({ prompt: promptOf(words) }, hasty.context(protocol))),
        )
      }),
    )
    expect(failures.map(({ kind }) => kind)).to.deep.equal(['unknown', 'unknown', 'unknown', 'unknown'])
    await hasty.close()
  })

  it('never uses a connection again', async () => {
    const image = world.upstreams.adapterOf('openai').image as DirectMediaAdapter
    for (let at = 0; at < 2; at += 1) {
      const prompt = promptOf('fresh')
      await image.generate({ prompt }, world.context('openai'))
      expect(world.sandbox.journal(prompt)[0]!.headers.connection).to.equal('close')
    }
  })
})

describe('an image request to OpenRouter', () => {
  it('names the resolution by its form, and has the image as a reference', async () => {
    const world = await startWorld()
    const image = world.upstreams.adapterOf('openrouter').image as DirectMediaAdapter
    const sent = async (resolution: string) => {
      const prompt = promptOf('shape')
      await image.generate({ prompt, resolution, image_url: PIXEL_URI }, world.context('openrouter'))
      return world.sandbox.journal(prompt)[0]!.body as Record<string, unknown>
    }
    expect(await sent('16:9'))
      .to.include({ aspect_ratio: '16:9' })
      .and.not.to.have.property('resolution')
    expect(await sent('2K')).to.include({ resolution: '2K' })
    const body = await sent('512x768')
    expect(body).to.include({ size: '512x768' })
    expect(body.input_references).to.deep.equal([{ type: 'image_url', image_url: { url: PIXEL_URI } }])
    await world.close()
  })
})
