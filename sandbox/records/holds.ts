/** Work that goes no further until it is released. */
export interface Hold {
  /** Whether it still waits. */
  readonly held: boolean
  /** Settles when it is released or dropped. */
  readonly over: Promise<void>
  /** Lets it go without a release: its client has disconnected. */
  readonly drop: () => void
}

/** Work that `[hold]` holds. */
export class Holds {
  private readonly waiting = new Map<() => void, string>()

  /** Holds the work of this prompt from now on. */
  add(prompt: string): Hold {
    const { waiting } = this
    let settle = (): void => {}
    const over = new Promise<void>((resolve) => {
      settle = resolve
    })
    const drop = (): void => {
      if (waiting.delete(drop)) settle()
    }
    waiting.set(drop, prompt)
    return {
      get held() {
        return waiting.has(drop)
      },
      over,
      drop,
    }
  }

  /** Lets all work go on whose prompt contains this text. Returns how many were held. */
  release(prompt: string): number {
    const found = [...this.waiting].filter(([, one]) => one.includes(prompt))
    for (const [drop] of found) drop()
    return found.length
  }
}
