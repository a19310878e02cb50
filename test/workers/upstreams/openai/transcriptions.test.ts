import { expect } from 'chai'
import { Readable } from 'node:stream'
import { createUpstreams } from '../../../../src/workers/upstreams/registry.ts'
import { serve } from '../../fetching/servers.ts'
import { contextOf, routeTo } from '../sandbox-upstreams.ts'

describe('a transcription of an upstream of the kind of OpenAI', () => {
  it('has segments that last until the next one, or the end of the sound, where they have no end', async () => {
    const answer = {
      text: 'a b c',
      segments: [
        { start: 0, end: null, text: 'a' },
        { start: 1.5, end: 2, text: 'b' },
        { start: 3, text: 'c' },
      ],
    }
    const upstream = await serve((request, response) => {
      request.resume().on('end', () => response.end(JSON.stringify(answer)))
    })
    const upstreams = createUpstreams({ accountShare: 1 })
    const open = () => Readable.from([Buffer.from('sound')])
    const file = { name: 'a.wav', type: 'audio/wav', bytes: 5, open }
    const context = { ...contextOf(routeTo('openai', upstream.origin)), files: [file] }
    const asked = { task: 'transcribe', format: 'srt', seconds: 5, file: { name: 'a.wav' } }
    try {
      const { segments } = await upstreams.adapterOf('openai').transcription!(asked as never, context)
      const times = segments!.map(({ start, end }) => [start, end])
      expect(times).to.deep.equal([
        [0, 1.5],
        [1.5, 2],
        [3, 5],
      ])
    } finally {
      await upstreams.close()
      await upstream.close()
    }
  })
})
