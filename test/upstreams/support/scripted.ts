import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Listening } from '../../workers/fetching/servers.ts'
import { serve } from '../../workers/fetching/servers.ts'

/** Answers the requests of one call. `body` is the request's text. */
export type Script = (request: IncomingMessage, response: ServerResponse, body: string) => void

/** An upstream that answers with whatever a test says, in any protocol. */
export type Scripted = Listening & {
  /** A prompt whose requests this script answers: each has its id in the body or the path. */
  prompt: (script: Script) => string
}

/** Starts an upstream that answers 404 to requests without a script. */
export async function startScripted(): Promise<Scripted> {
  const scripts = new Map<string, Script>()
  const server = await serve((request, response) => {
    let body = ''
    request
      .setEncoding('utf8')
      .on('data', (piece: string) => {
        body += piece
      })
      .on('end', () => {
        const text = `${request.url} ${body}`
        const script = [...scripts].find(([id]) => text.includes(id))?.[1]
        if (script) script(request, response, body)
        else response.writeHead(404).end()
      })
  })
  return Object.assign(server, {
    prompt: (script: Script) => {
      const id = randomUUID()
      scripts.set(id, script)
      return id
    },
  })
}

/** Answers every request with this text, as JSON. */
export const saying =
  (text: string): Script =>
  (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(text)
  }

/** Answers every request with this text, as a stream of events. */
export const streaming =
  (text: string): Script =>
  (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(text)
  }

/** Events of these JSON values. */
export const eventsOf = (...values: unknown[]): string =>
  values.map((value) => `data: ${JSON.stringify(value)}\n\n`).join('')
