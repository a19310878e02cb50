/**
 * The benchmark's table, and the same as JSON.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** The median round of a subject. Latencies in ms, CPU in µs a call by process, memory in MB. */
export type Row = {
  subject: string
  inFlight: number
  rate: number
  p50: number
  p90: number
  p99: number
  cpuMicros: Record<string, number>
  memoryMb: Record<string, number>
}

const sum = (parts: Record<string, number>): number => Object.values(parts).reduce((total, part) => total + part, 0)
const parts = (of: Record<string, number>): string =>
  Object.entries(of)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ')

/** Prints the table and writes the rows. Added latency is over the upstream directly; ratios are of calls a second. */
export function printReport(rows: Row[], file: string, machine: string): void {
  const lines = [
    [
      'in flight',
      'subject',
      'calls/s',
      'p50 ms',
      'p90 ms',
      'p99 ms',
      'added p50',
      'of proxy',
      'of peer',
      'CPU µs/call',
      'by process',
      'memory MB',
    ],
  ]
  for (const row of rows) {
    const other = (name: string) => rows.find((one) => one.subject === name && one.inFlight === row.inFlight)
    const ratio = (name: string) => (other(name) ? (row.rate / other(name)!.rate).toFixed(2) : '–')
    const direct = other('upstream')
    lines.push([
      String(row.inFlight),
      row.subject,
      row.rate.toFixed(0),
      row.p50.toFixed(2),
      row.p90.toFixed(2),
      row.p99.toFixed(2),
      direct ? (row.p50 - direct.p50).toFixed(2) : '–',
      ratio('proxy'),
      ratio('peer'),
      String(sum(row.cpuMicros)),
      parts(row.cpuMicros),
      parts(row.memoryMb),
    ])
  }
  const widths = lines[0]!.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)))
  console.log(`\n${machine}\n`)
  for (const line of lines)
    console.log(
      line
        .map((cell, column) =>
          column < 2 || column > 9 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!),
        )
        .join('  '),
    )
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, JSON.stringify({ machine, at: new Date().toISOString(), rows }, null, 2))
}
