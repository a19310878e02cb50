/** What Node keeps of a stack by itself, in frames. */
const FRAMES = 10

/**
 * mocha has every error keep its whole stack, through all that awaited it, and Stripe's client writes one at each
 * request. Has them keep what Node does, until the function that it answers is called.
 */
export function shortenStacks(): () => void {
  const before = Error.stackTraceLimit
  Error.stackTraceLimit = FRAMES
  return () => {
    Error.stackTraceLimit = before
  }
}
