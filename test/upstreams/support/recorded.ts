import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../../scripts/folders.ts'
import type { Listening } from '../../workers/fetching/servers.ts'
import { serve } from '../../workers/fetching/servers.ts'

const FOLDER = join(root, 'test/upstreams/answers')

/** The answer of a case: a status line, headers, an empty line, and the bytes of the body. */
function answerOf(
  name: string,
  kind: 'stream' | 'whole',
): { status: number; headers: [string, string][]; body: Buffer } {
  const paths = [kind, 'whole', 'stream'].map((one) => join(FOLDER, `${name}.${one}.http`))
  const bytes = readFileSync(paths.find((path) => existsSync(path))!)
  const end = bytes.indexOf('\r\n\r\n')
  const [status = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n')
  const headers = lines.map((line): [string, string] => {
    const at = line.indexOf(': ')
    return [line.slice(0, at), line.slice(at + 2)]
  })
  return { status: Number(status.split(' ')[1]), headers, body: bytes.subarray(end + 4) }
}

/**
 * An upstream that answers recorded bytes: those of `test/upstreams/answers/NAME.stream.http` or `NAME.whole.http` for
 * a prompt with `[case NAME]`, whichever is asked for, else the one that there is.
 */
export const startRecorded = (): Promise<Listening> =>
  serve((request, response) => {
    let text = ''
    request
      .setEncoding('utf8')
      .on('data', (piece: string) => {
        text += piece
      })
      .on('end', () => {
        const name = /\[case ([\w-]+)\]/.exec(text)![1]!
        const { status, headers, body } = answerOf(name, /"stream":true/.test(text) ? 'stream' : 'whole')
        response.writeHead(status, Object.fromEntries(headers)).end(body)
      })
  })
