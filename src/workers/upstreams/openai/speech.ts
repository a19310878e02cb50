/** Speech of OpenAI's kind: sound, as it comes. */
import { applyRules } from '../body-rules.ts'
import { malformedAnswer } from '../failures.ts'
import type { SpeechAdapter } from '../adapter.ts'
import type { UpstreamHttp } from '../http.ts'

/** The speech of every server that speaks OpenAI's wire format. */
export function createOpenaiSpeech(http: UpstreamHttp): SpeechAdapter {
  return async (request, context, take) => {
    const json = applyRules({ ...request, model: context.route.model }, context.route)
    const headers = { accept: 'application/octet-stream' }
    const sent = { method: 'POST', kind: 'speech', path: '/audio/speech', headers, body: { json } } as const
    const answer = await http.body(sent, context)
    let bytes = 0
    try {
      for await (const piece of answer.source as AsyncIterable<Uint8Array>) {
        if (bytes === 0 && isText(piece)) throw malformedAnswer('the answer is a text and no sound')
        bytes += piece.length
        if (bytes > answer.maxBytes) throw malformedAnswer('the sound is too long')
        if (piece.length > 0) await take(piece)
      }
    } catch (error) {
      throw answer.failure(error)
    } finally {
      answer.release(false)
    }
    if (bytes === 0) throw malformedAnswer('the answer has no sound')
  }
}

/** How many bytes of an answer are looked at. */
const LOOK_BYTES = 16

/** Whether an answer is a web page or JSON, whatever its label: sound does not begin like that. */
function isText(first: Uint8Array): boolean {
  const head = Buffer.from(first.subarray(0, LOOK_BYTES)).toString('latin1')
  return /^\s*[{<[]/.test(head) && /^[\s\x20-\x7e]*$/.test(head)
}
