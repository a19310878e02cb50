import { createSandbox } from '../../../sandbox/server.ts'
import type { Sandbox } from '../../../sandbox/server.ts'
import { post } from '../../../scripts/harness/http.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { useFor } from '../../support/gateway.ts'

/** Parsed JSON of any shape. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Fields = Record<string, any>

/** The sandbox of a suite, with short tasks. */
export const useSandbox = (): Sandbox =>
  useFor(
    () => createSandbox({ videoSeconds: 0.05, imageSeconds: 0.05 }),
    ({ close }) => close(),
  )

/** Asks a sandbox for a chat completion, with a key that it takes. */
export const chatAt = ({ url }: Sandbox, prompt: string, more: Fields = {}): Promise<Reply> =>
  post(`${url}/v1/chat/completions`, 'made-up', {
    model: 'gpt-sandbox',
    messages: [{ role: 'user', content: prompt }],
    ...more,
  })

/** The data of server-sent events; `[DONE]` stays text. */
export function eventsOf(text: string): (Fields & string)[] {
  return text
    .split('\n\n')
    .filter(Boolean)
    .map((block) => {
      const data = block
        .split('\n')
        .find((line) => line.startsWith('data: '))!
        .slice(6)
      return data === '[DONE]' ? data : JSON.parse(data)
    })
}
