import { expect } from 'chai'
import { expectBooksToBalance } from '../../../support/books.ts'
import { anAccount, balanceOf } from '../../../../scripts/harness/factories.ts'
import type { Gateway } from '../../../../scripts/harness/harness.ts'
import { startGateway } from '../../../../scripts/harness/harness.ts'
import { get, post } from '../../../../scripts/harness/http.ts'
import { movementsOf, prompted, recordOf } from '../../../../scripts/harness/calling.ts'
import { PIXEL_URI } from '../../../support/pixel.ts'

describe('POST /v1/images/generations and /v1/videos/generations', () => {
  let gateway: Gateway
  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())
  afterEach(() => expectBooksToBalance(gateway.db))

  const local = (address: string): string => new URL(new URL(address).pathname, gateway.url).href

  for (const [path, modality, model, cost, type] of [
    ['images', 'image', 'sandbox-image', 40, 'image/png'],
    ['videos', 'video', 'sandbox-video', 250, 'video/mp4'],
  ] as const) {
    it(`answers ${path} in the specified form, with an address that serves the result`, async () => {
      const account = await anAccount(gateway.db, 1000)
      const prompt = prompted('a lighthouse')
      const asked = Math.floor(Date.now() / 1000)
      const reply = await post(`${gateway.url}/v1/${path}/generations`, account.key, { model, prompt })
      expect(reply.status, reply.text).to.equal(200)
      expect(reply.json).to.have.all.keys('ok', 'created', 'data', 'usage')
      expect(reply.json.ok).to.equal(true)
      expect(reply.json.created).to.be.within(asked, Date.now() / 1000)
      expect(reply.json.usage).to.have.all.keys('credits', 'balance', 'latencyMs')
      expect(reply.json.usage).to.include({ credits: cost, balance: 1000 - cost })
      expect(reply.json.usage.latencyMs).to.be.a('number').that.satisfies(Number.isInteger)
      expect(await balanceOf(gateway.db, account.id)).to.equal(1000 - cost)
      expect(await movementsOf(gateway.db, reply)).to.deep.equal([`charge -${cost}`])
      expect(await recordOf(gateway.db, reply)).to.include({
        status: 'succeeded',
        modality,
        model,
        credits: cost,
        creditsPrecharged: cost,
        upstream: 'sandbox',
        attempts: 1,
        latencyMs: reply.json.usage.latencyMs,
        resultUrl: reply.json.data[0].url,
        inputTokens: null,
      })
      expect(gateway.sandbox.billed(prompt).total).to.equal(1)
      const media = await get(local(reply.json.data[0].url))
      expect(media.status).to.equal(200)
      expect(media.headers.get('content-type')).to.equal(type)
    })
  }

  it('edits an image of the request', async () => {
    const account = await anAccount(gateway.db, 1000)
    const prompt = prompted()
    const reply = await post(`${gateway.url}/v1/images/generations`, account.key, {
      model: 'sandbox-image',
      prompt,
      image_url: PIXEL_URI,
    })
    expect(reply.status, reply.text).to.equal(200)
    expect(gateway.sandbox.journal(prompt)[0]!.path).to.equal('/v1/images/edits')
  })

  describe('durations and resolutions', () => {
    const made = async (kind: 'images' | 'videos', fields: object) => {
      const account = await anAccount(gateway.db, 1000)
      const prompt = prompted()
      const reply = await post(`${gateway.url}/v1/${kind}/generations`, account.key, { prompt, ...fields })
      const [sent] = gateway.sandbox.journal(prompt)
      return { reply, sent: JSON.stringify(sent?.body ?? null), balance: await balanceOf(gateway.db, account.id) }
    }

    const SENT: [what: string, kind: 'images' | 'videos', fields: object, sent: string[]][] = [
      [
        'those that the request names',
        'videos',
        { model: 'sized-video', duration: 8, resolution: '1080p' },
        ['"seconds":"8"', '"size":"1920x1080"'],
      ],
      ['the first that the model states', 'videos', { model: 'sized-video' }, ['"seconds":"4"', '"size":"1280x720"']],
      [
        'one named, and the first of the other',
        'videos',
        { model: 'sized-video', duration: 8 },
        ['"seconds":"8"', '"size":"1280x720"'],
      ],
      ['the default of a range', 'videos', { model: 'ranged-video' }, ['"seconds":"5"']],
      ['both ends of a range', 'videos', { model: 'ranged-video', duration: 12.5 }, ['"seconds":"12.5"']],
      ['the first resolution for an image', 'images', { model: 'sized-image' }, ['"size":"16x16"']],
      ['a null as what is left out', 'images', { model: 'sized-image', resolution: null }, ['"size":"16x16"']],
      [
        'ten seconds of a video model that states nothing',
        'videos',
        { model: 'sandbox-video', duration: 10, resolution: '480p' },
        ['"seconds":"10"', '"size":"854x480"'],
      ],
      [
        '1K of an image model that states nothing',
        'images',
        { model: 'sandbox-image', resolution: '1K' },
        ['"size":"1024x1024"'],
      ],
    ]
    for (const [what, kind, fields, texts] of SENT) {
      it(`send the upstream ${what}`, async () => {
        const { reply, sent } = await made(kind, fields)
        expect(reply.status, reply.text).to.equal(200)
        for (const text of texts) expect(sent).to.include(text)
      })
    }

    it('are left to the upstream if neither the request nor the model has any', async () => {
      for (const [kind, model] of [
        ['videos', 'sandbox-video'],
        ['images', 'sandbox-image'],
      ] as const) {
        const { sent } = await made(kind, { model })
        expect(sent)
          .to.include('prompt')
          .and.not.to.match(/seconds|size/)
      }
    })

    const REFUSED: [kind: 'images' | 'videos', fields: Record<string, unknown>, param: string, message: RegExp][] = [
      ['videos', { model: 'sandbox-video', duration: 10.01 }, 'duration', /at most 10 seconds/],
      ['videos', { model: 'sandbox-video', duration: 600 }, 'duration', /at most 10 seconds/],
      ['videos', { model: 'sandbox-video', resolution: '1080p' }, 'resolution', /480p, 720p/],
      ['videos', { model: 'sandbox-video', resolution: '1K' }, 'resolution', /480p, 720p/],
      ['videos', { model: 'sandbox-video', resolution: '1920x1080' }, 'resolution', /480p, 720p/],
      ['videos', { model: 'sized-video', duration: 6 }, 'duration', /4 or 8 seconds/],
      ['videos', { model: 'sized-video', resolution: '480p' }, 'resolution', /720p, 1080p/],
      ['videos', { model: 'ranged-video', duration: 1.9 }, 'duration', /2 to 12.5 seconds/],
      ['videos', { model: 'ranged-video', duration: 4.01 }, 'duration', /in steps of 0.1/],
      ['videos', { model: 'ranged-video', duration: 5.0000000001 }, 'duration', /in steps of 0.1/],
      ['videos', { model: 'sandbox-video', duration: 4.01 }, 'duration', /in steps of 0.1/],
      ['videos', { model: 'ranged-video', duration: 13 }, 'duration', /2 to 12.5 seconds/],
      ['images', { model: 'sandbox-image', resolution: '2K' }, 'resolution', /offers 1K/],
      ['images', { model: 'sandbox-image', resolution: '1024x1024' }, 'resolution', /offers 1K/],
      ['images', { model: 'sized-image', resolution: '4K' }, 'resolution', /16x16, 1K, 2K/],
    ]
    for (const [kind, fields, param, message] of REFUSED) {
      it(`that the model does not offer are refused before any charge: ${JSON.stringify(fields)}`, async () => {
        const { reply, sent, balance } = await made(kind, fields)
        expect(reply.status, reply.text).to.equal(400)
        expect(reply.json.error).to.include({ type: 'invalid_request', param })
        expect(reply.json.error.message).to.match(message)
        expect([sent, balance]).to.deep.equal(['null', 1000])
      })
    }
  })

  it('charges exactly 50 of 200 parallel calls with credits for 50, and refuses the others', async function () {
    const account = await anAccount(gateway.db, [{ amount: 700, days: 1 }, { amount: 610, days: 2 }, { amount: 690 }])
    const prompt = prompted()
    const replies = await Promise.all(
      Array.from({ length: 200 }, () =>
        post(`${gateway.url}/v1/images/generations`, account.key, { model: 'sized-image', prompt }),
      ),
    )
    const counts = new Map<number, number>()
    for (const { status } of replies) counts.set(status, (counts.get(status) ?? 0) + 1)
    expect(Object.fromEntries(counts)).to.deep.equal({ 200: 50, 402: 150 })
    expect(await balanceOf(gateway.db, account.id)).to.equal(0)
    expect(gateway.sandbox.billed(prompt).total).to.equal(50)
    const balances = replies.filter(({ status }) => status === 200).map(({ json }) => json.usage.balance as number)
    expect(balances.every((balance) => balance >= 0 && balance % 40 === 0)).to.equal(true)
  })
})
