import { json } from 'node:stream/consumers'
import { serve } from '../fetching/servers.ts'

/** An upstream of OpenAI's protocol that answers what a test says, and what it was asked last. */
export type AnsweringUpstream = {
  baseUrl: string
  /** What it answers from now on, as JSON. */
  answer: unknown
  asked: { path: string; body: unknown } | null
  close: () => Promise<void>
}

/** Starts one. */
export async function startAnsweringUpstream(): Promise<AnsweringUpstream> {
  const { origin, close } = await serve((req, res) => {
    const answer = (body: unknown): void => {
      upstream.asked = { path: req.url!, body }
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(upstream.answer))
    }
    json(req).then(answer, () => res.destroy())
  })
  const upstream: AnsweringUpstream = { baseUrl: origin, answer: null, asked: null, close }
  return upstream
}
