/**
 * Server-sent events by fetch: EventSource knows no Authorization header and no POST.
 */

/** One event: `message` where the server names none. */
export type ServerEvent = { event: string; data: string }

/** Reads the events of an answer until it ends. @throws if the connection breaks. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      const blocks = (rest + decoder.decode(value, { stream: true })).split('\n\n')
      rest = blocks.pop()!
      for (const block of blocks) {
        const event = parse(block)
        if (event) yield event
      }
    }
  } finally {
    reader.cancel().catch(() => {})
  }
}

/** Comments are no events. */
function parse(block: string): ServerEvent | null {
  let event = 'message'
  const data: string[] = []
  for (const line of block.split('\n')) {
    if (line.startsWith('event:')) event = line.slice(6).trim()
    else if (line.startsWith('data:')) data.push(line.slice(5).trimStart())
  }
  return data.length === 0 ? null : { event, data: data.join('\n') }
}
