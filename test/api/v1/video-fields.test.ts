import { expect } from 'chai'
import { prompted } from '../../../scripts/harness/calling.ts'
import { anAccount, balanceOf } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import type { Gateway } from '../../../scripts/harness/harness.ts'
import { startGateway } from '../../../scripts/harness/harness.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { get, post } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import { PIXEL_URI } from '../../support/pixel.ts'

describe('the fields of videos in the form of OpenAI', () => {
  let gateway: Gateway
  let account: TestAccount
  before(async () => {
    gateway = await startGateway({}, ({ models }) => {
      const sized = models.find(({ id }) => id === 'sized-video')!
      models.push({
        ...sized,
        id: 'priced-video',
        credits: undefined,
        prices: [
          { resolution: '1080p', perSecond: 40 },
          { resolution: '720p', credits: 25 },
        ],
      })
    })
  })
  after(() => gateway.stop())
  beforeEach(async () => {
    account = await anAccount(gateway.db, 10_000)
  })
  afterEach(() => expectBooksToBalance(gateway.db))

  const create = (fields: object = {}): Promise<Reply> =>
    post(`${gateway.url}/v1/videos`, account.key, { model: 'sandbox-video', prompt: prompted(), ...fields })

  const untilEnded = (id: string): Promise<Reply> =>
    until('the video ends', async () => {
      const seen = await get(`${gateway.url}/v1/videos/${id}`, account.key)
      return ['completed', 'failed'].includes(seen.json.status) && seen
    })

  it('take their seconds as a text and as a number', async () => {
    for (const seconds of ['8', 8]) {
      const { status, json } = await create({ model: 'sized-video', seconds })
      expect({ status, seconds: json.seconds }).to.deep.equal({ status: 200, seconds: '8' })
    }
  })

  it('take a size for the resolution of its height, and are charged for it', async () => {
    for (const [size, credits] of [
      ['1280x720', 25],
      ['1920x1080', 320],
    ] as const) {
      const prompt = prompted()
      const { status, json, headers } = await create({ model: 'priced-video', prompt, seconds: '8', size })
      expect(status, JSON.stringify(json)).to.equal(200)
      expect(json.size).to.equal(size)
      expect(headers.get('x-credits')).to.equal(String(credits))
      await untilEnded(json.id)
      expect(JSON.stringify(gateway.sandbox.journal(prompt)[0]!.body)).to.contain(`"size":"${size}"`)
    }
  })

  it('begin with a picture that their request names', async () => {
    const prompt = prompted()
    const { status, json } = await create({ prompt, input_reference: { image_url: PIXEL_URI } })
    expect(status).to.equal(200)
    expect((await untilEnded(json.id)).json.status).to.equal('completed')
    expect(JSON.stringify(gateway.sandbox.journal(prompt)[0])).to.contain('input_reference')
  })

  const REFUSED: [what: string, fields: object, param: string, code?: string][] = [
    ['other seconds than the model offers', { model: 'sized-video', seconds: '5' }, 'seconds'],
    ['seconds that are no number', { seconds: 'eight' }, 'seconds'],
    ['no seconds at all', { seconds: '0' }, 'seconds'],
    ['a size that stands for no resolution of the model', { model: 'sized-video', size: '720x1280' }, 'size'],
    ['a size that its height alone would fit', { model: 'sized-video', size: '720x720' }, 'size'],
    ['a size that is none', { size: 'large' }, 'size'],
    ['seconds beside a duration', { seconds: '4', duration: 4 }, 'seconds'],
    ['a size beside a resolution', { size: '1280x720', resolution: '720p' }, 'size'],
    [
      'a picture at a private address',
      { input_reference: { image_url: 'http://10.0.0.1/' } },
      'input_reference.image_url',
    ],
    ['a picture by the id of a file', { input_reference: { file_id: 'file-1' } }, 'input_reference.image_url'],
    ['a picture that is only a text', { input_reference: 'https://example.com/a.png' }, 'input_reference'],
    ['no prompt', { prompt: '' }, 'prompt', 'invalid_prompt'],
    ['a model of pictures', { model: 'sandbox-image' }, 'model', 'unsupported_model'],
  ]
  for (const [what, fields, param, code = 'invalid_request'] of REFUSED) {
    it(`are refused for ${what}, and cost nothing`, async () => {
      const { status, json } = await create(fields)
      expect(status, JSON.stringify(json)).to.equal(400)
      expect(json.ok).to.equal(false)
      expect(json.error).to.include({ type: code, param })
      expect(await balanceOf(gateway.db, account.id)).to.equal(10_000)
    })
  }
})
