/**
 * The first page of a visit. Answers to what was asked for early come about when the code does: a page that is laid out
 * once, with them, is there before one that is laid out without them and again with each.
 */
import { earlyAnswers } from '../api/early.ts'

/** How long the page waits for the answers, in ms; after that it shows what it is waiting for. */
const PATIENCE_MS = 100

/** How long a browser takes to draw the page once it is in the document, in ms. */
const DRAWING_MS = 50

let ready: () => void

/** Settles when the first page has been shown. What can wait until then leaves it the processor and the connections. */
export const opened = new Promise<void>((resolve) => {
  ready = resolve
})

/** Has the first page made in `place`, outside the document until it has what was asked for early. */
export async function open(place: HTMLElement, make: () => void): Promise<void> {
  const answers = earlyAnswers()
  if (answers) {
    place.remove()
    make()
    // Whoever asked has the last of the answers a moment after it came.
    await Promise.race([answers.then(() => pause(0)), pause(PATIENCE_MS)])
    document.body.prepend(place)
  } else make()
  await pause(DRAWING_MS)
  ready()
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms))
