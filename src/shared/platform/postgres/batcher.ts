/**
 * Gathers what concurrent requests ask of Postgres into one statement.
 */
import { reportDefect } from '../process/defects.ts'

/** How many items one statement carries at most. */
const MAX_BATCH = 64

type Waiting<Item, Answer> = { item: Item; resolve: (answer: Answer) => void; reject: (error: unknown) => void }

/**
 * A function for one item over a function for many. The items of one turn of the event loop leave together; items that
 * come while their statement is on its way are gathered and leave, in the order they came, as soon as it returns. So an
 * idle system pays no delay, and a busy one shares round trips and commits. Never two statements at once: those of one
 * account would only wait for each other's lock, each with half the items (docs/performance.md#what-paid).
 *
 * When a batch fails over one of its items, the items are run again one by one, so that each caller meets its own error
 * only; `run` must therefore be safe to repeat. An error that `failsWholeBatch` knows (Postgres is away) goes to all at
 * once.
 */
export function batched<Item, Answer>(
  run: (items: Item[]) => Promise<Answer[]>,
  failsWholeBatch: (error: unknown) => boolean,
): (item: Item) => Promise<Answer> {
  let waiting: Waiting<Item, Answer>[] = []
  let busy = false

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
      await send(batch)
    }
    busy = false
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      if (busy) return
      busy = true
      setImmediate(() => {
        sendAll().catch(reportDefect)
      })
    })
}
