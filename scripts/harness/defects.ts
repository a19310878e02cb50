import type { Readable } from 'node:stream'

/** Only the log line of an unhandled defect has this (src/shared/platform/process/defects.ts). */
const MARK = Buffer.from('"defect":"')

/** How much of a line is shown, in bytes. */
const SHOWN = 4000

/**
 * Fails the starter of a process, by an unhandled rejection, once the process' output reports an unhandled defect. The
 * output is only searched: parsing would take CPU from processes that are measured.
 */
export function failForDefects(name: string, outputs: readonly (Readable | null)[]): void {
  for (const output of outputs) {
    let end = Buffer.alloc(0)
    output?.on('data', (piece: Buffer) => {
      // The mark may be cut in two.
      const seam = Buffer.concat([end, piece.subarray(0, MARK.length - 1)])
      const at = seam.includes(MARK) ? 0 : piece.indexOf(MARK)
      if (at >= 0) complain(name, piece.subarray(Math.max(0, piece.lastIndexOf('\n', at) + 1)))
      end = Buffer.from(piece.subarray(1 - MARK.length))
    })
  }
}

function complain(name: string, from: Buffer): void {
  const [line] = from.subarray(0, SHOWN).toString().split('\n')
  void Promise.reject(new Error(`${name} has had a defect: ${line}`))
}
