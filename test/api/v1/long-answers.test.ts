import { expect } from 'chai'
import { chatBody as chatSchema } from '../../../src/api/v1/calls/call-schemas.ts'
import { parseBody } from '../../../src/shared/requests/parse-body.ts'
import { requestHash } from '../../../src/api/v1/calls/joined-calls.ts'
import { useAccount, useWeb } from '../../support/gateway.ts'
import { aStoredChat } from '../../support/stored-answers.ts'
import { CHAT, chatBody, prompted } from '../../../scripts/harness/calling.ts'
import { chunksOf, textOf } from './support/chunks.ts'

const MEGABYTE = 1024 * 1024
const SLICE = 512 * 1024

// How much of them may be unread: test/api/server/response-memory.test.ts and bounded-memory.test.ts.
describe('a long answer', () => {
  const web = useWeb()
  const account = useAccount(web, 1000)

  const begin = (path: string) => fetch(`${web.url}${path}`, { headers: { authorization: `Bearer ${account.key}` } })

  it('is returned to the last character, whatever its length and script', async () => {
    // The text around the content has about 250 characters, so that some of these end near the end of a slice.
    const near = Array.from({ length: 6 }, (_, at) => SLICE - 265 + 5 * at)
    for (const [letters, ...lengths] of [
      ['a', 60_000, 64 * 1024],
      ['你', SLICE - 251, 3 * SLICE],
      ['😀"\\', ...near],
    ] as [string, ...number[]][])
      for (const length of lengths) {
        const content = letters.repeat(Math.ceil(length / letters.length))
        const reply = await account.get(await aStoredChat(web.db, account, content))
        expect(reply.status).to.equal(200)
        expect(Number(reply.headers.get('content-length'))).to.equal(Buffer.byteLength(reply.text))
        expect(reply.json?.choices[0].message.content === content, `${letters} × ${length}`).to.equal(true)
        expect(reply.json.usage).to.include({ total_tokens: 3, credits: 1 })
      }
  })

  it('is the same for a retry with its key, as JSON and as a stream', async () => {
    const content = '你好 "😀"\n'.repeat(60_000)
    const [body, key] = [chatBody(prompted()), prompted()]
    parseBody(chatSchema, body)
    const asked = { idempotency: { key, seconds: 600 }, requestHash: requestHash('chat', body) }
    await aStoredChat(web.db, account, content, asked)
    const again = (more: object = {}) => account.post(CHAT, { ...body, ...more }, { 'idempotency-key': key })
    const json = await again()
    expect([json.status, json.headers.get('idempotent-replayed')]).to.deep.equal([200, 'true'])
    expect(json.json.choices[0].message.content === content).to.equal(true)
    const stream = await again({ stream: true })
    const chunks = chunksOf(stream.text)
    expect(textOf(chunks) === content).to.equal(true)
    expect(chunks.at(-1)!.usage).to.deep.equal(json.json.usage)
    expect(stream.text).to.match(/data: \[DONE\]\n\n$/)
    expect(await account.balance()).to.equal(999)
  })

  it('is cut off, and not taken for complete, if its result is deleted while it is read', async () => {
    const response = await begin(await aStoredChat(web.db, account, 'x'.repeat(16 * MEGABYTE)))
    expect(response.status).to.equal(200)
    await web.db('call_results').delete()
    const whole = await response.text().then(
      () => true,
      () => false,
    )
    expect(whole).to.equal(false)
  })
})
