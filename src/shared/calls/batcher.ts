/**
 * Gathers what concurrent requests ask of Postgres into one statement.
 */

/** How many items one statement carries at most. */
const MAX_BATCH = 64

/** How many statements of one kind are on their way at once. */
const MAX_IN_FLIGHT = 2

type Waiting<Item, Answer> = { item: Item; resolve: (answer: Answer) => void; reject: (error: unknown) => void }

/**
 * A function for one item over a function for many. An item that comes alone is sent at once; items that come while
 * statements are on their way are gathered and leave together, in the order they came, when one returns. So an idle
 * system pays no delay, and a busy one shares round trips and commits.
 *
 * When a batch fails over one of its items, the items are run again one by one, so that each caller meets its own error
 * only; `run` must therefore be safe to repeat. An error that `isEveryones` knows (Postgres is away) goes to all at once.
 */
export function batched<Item, Answer>(
  run: (items: Item[]) => Promise<Answer[]>,
  isEveryones: (error: unknown) => boolean,
): (item: Item) => Promise<Answer> {
  const waiting: Waiting<Item, Answer>[] = []
  let inFlight = 0

  async function send(batch: Waiting<Item, Answer>[]): Promise<void> {
    try {
      const answers = await run(batch.map((one) => one.item))
      batch.forEach((one, index) => one.resolve(answers[index]!))
    } catch (error) {
      if (batch.length === 1 || isEveryones(error)) batch.forEach((one) => one.reject(error))
      else for (const one of batch) await send([one])
    }
  }

  function pump(): void {
    while (inFlight < MAX_IN_FLIGHT && waiting.length > 0) {
      inFlight++
      void send(waiting.splice(0, MAX_BATCH)).finally(() => {
        inFlight--
        pump()
      })
    }
  }

  return (item) => new Promise((resolve, reject) => {
    waiting.push({ item, resolve, reject })
    pump()
  })
}
