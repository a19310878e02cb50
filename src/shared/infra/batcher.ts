/**
 * Gathers what concurrent requests ask of Postgres into one statement.
 */

import { setTimeout } from 'node:timers/promises'
import { reportDefect } from './defects.ts'

/** How many items one statement carries at most. */
const MAX_BATCH = 64

/**
 * The pause before the next statement of a busy system: so many times as long as the last one took, at most so many ms,
 * and none where enough items wait already. A statement for many costs little more than one for a few.
 */
const PAUSE = { times: 2, atMostMs: 5, enough: 16 }

type Waiting<Item, Answer> = { item: Item; resolve: (answer: Answer) => void; reject: (error: unknown) => void }

/**
 * A function for one item over a function for many. The items of one turn of the event loop leave together; items that
 * come while their statement is on its way are gathered and leave, in the order they came, when it returns; where that
 * one was shared, after a short pause that lets more of them join. So an idle system pays no delay, and a busy one
 * shares round trips and commits. Never two statements at once: those of one account would only wait for each other's
 * lock, each with half the items (measured in docs/performance.md).
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
      const startedAt = performance.now()
      await send(batch)
      const isBusy = batch.length > 1 && waiting.length > 0 && waiting.length < PAUSE.enough
      if (isBusy) await setTimeout(Math.min((performance.now() - startedAt) * PAUSE.times, PAUSE.atMostMs))
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
