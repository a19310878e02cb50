/** The tables of another gateway as files of JSON lines, `<table>.jsonl`: a dump of one moment. */
import { createReadStream, existsSync } from 'node:fs'
import { join } from 'node:path'
import { CommandError } from '../../command.ts'
import type { Row, Source } from './source.ts'

/** The longest line, in bytes. A row that is longer is no row of these tables. */
const MAX_LINE_BYTES = 4 * 1024 * 1024

const NEWLINE = 0x0a

/** The lines of a file, each with its number. @throws CommandError for one that is too long */
async function* linesOf(path: string): AsyncGenerator<[number: number, line: string]> {
  let rest: Buffer[] = []
  let length = 0
  let number = 0
  const taken = (last: Buffer): [number, string] => {
    const line = Buffer.concat([...rest, last]).toString('utf8')
    rest = []
    length = 0
    return [++number, line]
  }
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    let from = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
      yield taken(chunk.subarray(from, end))
      from = end + 1
    }
    rest.push(chunk.subarray(from))
    length += chunk.length - from
    if (length > MAX_LINE_BYTES)
      throw new CommandError(`${path}: line ${number + 1} is longer than ${MAX_LINE_BYTES} bytes.`)
  }
  if (length > 0) yield taken(Buffer.alloc(0))
}

/** The rows of a file. @throws CommandError for a line that is not an object in JSON; its content is not shown */
async function* rowsOf(path: string): AsyncGenerator<Row> {
  for await (const [number, line] of linesOf(path)) {
    if (line.trim() === '') continue
    let row: unknown
    try {
      row = JSON.parse(line)
    } catch {
      row = null
    }
    if (typeof row !== 'object' || row === null || Array.isArray(row))
      throw new CommandError(`${path}: line ${number} is not an object in JSON.`)
    yield row as Row
  }
}

/** Opens a folder. */
export function openFolder(folder: string): Source {
  const fileOf = (table: string): string => join(folder, `${table}.jsonl`)
  return {
    columns: async (table) => {
      if (!existsSync(fileOf(table))) return null
      for await (const row of rowsOf(fileOf(table))) return Object.keys(row)
      return []
    },
    isEmpty: async (table) => {
      for await (const _row of rowsOf(fileOf(table))) return false
      return true
    },
    rows: (table) => rowsOf(fileOf(table)),
    close: async () => {},
  }
}
