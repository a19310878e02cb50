/** Gathers what concurrent requests ask of Postgres into one statement, and runs prepared ones. */
import { reportDefect } from '../process/defects.ts'
import pg from 'pg'
import type { Db } from './db.ts'

/** How many items one statement carries at most. */
const MAX_BATCH = 64

/** How many waiting items end the pause after a shared statement: more would save little. */
const ENOUGH = 16

/** The longest pause after a shared statement, in ms. */
const MAX_PAUSE_MS = 5

type Waiting<Item, Answer> = { item: Item; resolve: (answer: Answer) => void; reject: (error: unknown) => void }

/**
 * A function for one item over a function for many. The items of one turn of the event loop are sent together; items
 * that arrive during a statement are gathered and sent, in their order, in the next one. Never two statements at once:
 * those of one account would only wait for each other's lock, each with half the items.
 *
 * After a shared statement the next one waits for twice its time, at most 5 ms, unless 16 items wait: nearly all of a
 * statement's cost is fixed, so a busy system does the same work in half the statements. After a statement with one
 * item there is no pause, so a lone call waits for nothing (docs/performance.md#what-paid).
 *
 * When a batch fails over one of its items, the items are run again one by one, so that each caller gets its own error
 * only; `run` must therefore be safe to repeat. An error that `failsWholeBatch` knows (Postgres is away) goes to all at
 * once.
 * @param timer ends the pauses; tests have their own
 */
export function batched<Item, Answer>(
  run: (items: Item[]) => Promise<Answer[]>,
  failsWholeBatch: (error: unknown) => boolean,
  timer: (then: () => void, ms: number) => unknown = setTimeout,
): (item: Item) => Promise<Answer> {
  let waiting: Waiting<Item, Answer>[] = []
  let busy = false
  let endPause = (): void => {}

  async function send(batch: Waiting<Item, Answer>[]): Promise<void> {
    try {
      const answers = await run(batch.map((one) => one.item))
      batch.forEach((one, index) => one.resolve(answers[index]!))
    } catch (error) {
      if (batch.length === 1 || failsWholeBatch(error)) batch.forEach((one) => one.reject(error))
      else for (const one of batch) await send([one])
    }
  }

  async function sendAll(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, MAX_BATCH)
      waiting = waiting.slice(MAX_BATCH)
      const began = performance.now()
      await send(batch)
      if (batch.length > 1) await pause(2 * (performance.now() - began))
    }
    busy = false
  }

  async function pause(ms: number): Promise<void> {
    if (waiting.length >= ENOUGH) return
    await new Promise<void>((resolve) => {
      endPause = resolve
      timer(resolve, Math.min(ms, MAX_PAUSE_MS))
    })
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      if (waiting.length >= ENOUGH) endPause()
      if (busy) return
      busy = true
      setImmediate(() => {
        sendAll().catch(reportDefect)
      })
    })
}

/**
 * A statement that each connection prepares once, under its name. `$1` to `$n` are its values.
 *
 * A list as a bare parameter, as in `id = ANY ($1)`, makes Postgres plan the statement again at each use: a plan for
 * the given list seems cheaper than one for ten elements, which it assumes of any list. `ANY ((SELECT $1)::uuid[])`
 * is the same for both, and so the plan is reused (docs/performance.md#plans). A function needs no such care.
 */
export type Prepared = { name: string; text: string }

/**
 * Runs a prepared statement straight on a connection of the pool. Knex builds each statement again and copies its
 * values on the way; the few statements that every call runs bypass it (docs/performance.md#what-paid).
 * @returns its rows. @throws if no connection is available, and Postgres' errors.
 */
export async function runPrepared<Row extends object>(
  db: Db,
  { name, text }: Prepared,
  values: unknown[],
): Promise<Row[]> {
  const connection = (await db.client.acquireConnection()) as pg.Client
  try {
    return await new Promise<Row[]>((resolve, reject) => {
      // From a config object pg would make a slow copy, property by property.
      const query = new pg.Query<Row>(text, values, (error, result) => (error ? reject(error) : resolve(result.rows)))
      connection.query(Object.assign(query, { name }))
    })
  } finally {
    await db.client.releaseConnection(connection)
  }
}

/** What an array literal may have of one element. */
type Element = string | number | boolean | null | undefined

/**
 * An array as Postgres reads it, of elements that need no quotes: ids, numbers, truth values and our own words. What is
 * missing is NULL.
 */
export const plainArray = (elements: readonly Element[]): string => `{${elements.map((one) => one ?? 'NULL').join()}}`

/** The same of any texts. */
export const textArray = (texts: readonly (string | null | undefined)[]): string =>
  `{${texts.map((text) => (text == null ? 'NULL' : `"${withEscapes(text)}"`)).join()}}`

/** Most texts have nothing to escape, and a test costs less than replacing. One pattern for both would cost more. */
const withEscapes = (text: string): string =>
  /["\\]/.test(text) ? text.replaceAll('\\', '\\\\').replaceAll('"', '\\"') : text
