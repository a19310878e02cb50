import { randomUUID } from 'node:crypto'
import { originOf } from '../exchange.ts'
import type { Exchange, Protocol } from '../exchange.ts'
import { answerFault, steeredFault } from '../http/answer.ts'
import { sendContent, sendPadded } from '../http/content.ts'
import { Refusal } from '../wire.ts'
import type { Fault } from '../wire.ts'
import { render } from './render.ts'
import type { ServedFile } from './render.ts'

/** Gives a result of this call an address on the sandbox's own origin (or the one that the steering names). */
export function publish(exchange: Exchange, file: ServedFile): string {
  if (file.steering['result-url']) return file.steering['result-url']
  const name = `${randomUUID()}.${file.kind === 'image' ? 'png' : 'mp4'}`
  exchange.state.files.set(name, file)
  return `${originOf(exchange)}/files/${name}`
}

/** Sends a medium, with the faults that its steering has for downloads. `name` identifies the download. */
export async function sendMedium(exchange: Exchange, medium: ServedFile, name: string): Promise<void> {
  const { steering } = medium
  exchange.steering = steering
  const errors = steering['content-errors']
  if (errors && exchange.state.attempts.add(`file ${name}`) <= errors.times) {
    throw new Refusal(steeredFault(errors.status))
  }
  if (steering.redirect) {
    exchange.res.writeHead(302, { location: steering.redirect }).end()
    return
  }
  const content = await render(medium)
  if (steering.empty) return sendContent(exchange, { ...content, bytes: Buffer.alloc(0) })
  if (steering.big) return sendPadded(exchange, content, steering.big)
  return sendContent(exchange, content)
}

/** Results at addresses of their own. They are public, as on the file hosts of fal and Replicate. */
export const filesProtocol: Protocol = {
  name: 'files',
  envelope: (fault: Fault) => ({ body: { detail: fault.message } }),
  outOfCredit: { status: 402, message: 'Out of credit.' },
  routes: [
    {
      method: 'GET',
      path: '/files/:name',
      handle: async (exchange) => {
        const name = exchange.params['name']!
        const file = exchange.state.files.get(name)
        if (!file) return answerFault(exchange, { status: 404, message: 'No such file.' })
        exchange.prompt = file.prompt
        if (exchange.record) exchange.record.prompt = file.prompt
        await sendMedium(exchange, file, name)
      },
    },
  ],
}
