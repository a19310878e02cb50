/**
 * What every test process has (.mocharc.json): an unhandled rejection fails the file in which it comes. mocha alone
 * lets it pass, where it would be a defect of a real process.
 */
import type { Context } from 'mocha'

const left: string[] = []
let running = 'the file itself'

function note(reason: unknown): void {
  left.push(`in "${running}": ${reason instanceof Error ? reason.stack : String(reason)}`)
}

/** mocha's parallel mode takes all listeners away after each file. */
function listen(): void {
  if (!process.listeners('unhandledRejection').includes(note)) process.on('unhandledRejection', note)
}

listen()

export const mochaHooks = {
  beforeAll: listen,
  beforeEach(this: Context): void {
    running = this.currentTest!.fullTitle()
  },
  async afterAll(): Promise<void> {
    // What the last test left is known a turn later.
    for (let turns = 0; turns < 3; turns += 1) await new Promise((resolve) => setImmediate(resolve))
    const rejections = left.splice(0)
    if (rejections.length === 0) return
    throw new Error(
      `${rejections.length} rejections that nobody handled, the first ${rejections.slice(0, 3).join('\n')}`,
    )
  },
}
