import { connect } from 'node:net'
import { PATIENCE_MS } from '../../../scripts/harness/until.ts'

/** What was received over one connection. `closed`: by the other side, in time. */
export type Exchange = { text: string; statuses: number[]; closed: boolean }

/**
 * Sends bytes as they are over a connection of their own, and reads until the other side closes or `answers` answers
 * have arrived. Fails when neither happens within `ms`.
 */
export function exchange(
  url: string,
  pieces: (string | Uint8Array)[],
  { answers = Infinity, halfClose = false, ms = PATIENCE_MS } = {},
): Promise<Exchange> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
    let text = ''
    const done = (closed: boolean): void => {
      clearTimeout(timer)
      socket.destroy()
      resolve({ text, statuses: statusesOf(text), closed })
    }
    const timer = setTimeout(() => {
      socket.destroy()
      reject(new Error(`no end within ${ms} ms after: ${text.slice(0, 300)}`))
    }, ms)
    socket.on('data', (data) => {
      text += data.toString('latin1')
      if (wholeAnswers(text) >= answers) done(false)
    })
    socket.on('end', () => done(true))
    socket.on('error', () => done(true))
    for (const piece of pieces) socket.write(piece)
    if (halfClose) socket.end()
  })
}

const statusesOf = (text: string): number[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]))

/** How many complete answers with a Content-Length a text has. */
function wholeAnswers(text: string): number {
  let count = 0
  for (let rest = text; ;) {
    const end = rest.indexOf('\r\n\r\n')
    if (end < 0) return count
    const head = rest.slice(0, end)
    const length = /^HTTP\/1\.1 1\d\d/.test(head) ? 0 : Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0)
    if (rest.length < end + 4 + length) return count
    if (!/^HTTP\/1\.1 1\d\d/.test(head)) count++
    rest = rest.slice(end + 4 + length)
  }
}
