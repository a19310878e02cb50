/** Gathers what concurrent requests ask of Postgres into one statement. */
import { reportDefect } from '../process/defects.ts'

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
