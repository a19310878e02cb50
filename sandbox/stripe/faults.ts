/**
 * Faults of a request. `before` it is carried out: `500`, `503`, `429`, `reset`, `hang`; after it was: `500-after` (the
 * answer is lost, the same key brings it), `500-kept` (the same key brings the 500 again), `reset-after`, `hang-after`.
 */
export const REQUEST_FAULTS = [
  '429',
  '500',
  '503',
  'reset',
  'hang',
  '500-after',
  '500-kept',
  'reset-after',
  'hang-after',
] as const

/** Faults of an event: never sent, sent twice, sent after the next one, dated a day ago and held. */
export const EVENT_FAULTS = ['lost', 'doubled', 'after-next', 'day-late'] as const

/** A fault of a request. */
export type RequestFault = (typeof REQUEST_FAULTS)[number]
/** A fault of an event. */
export type EventFault = (typeof EVENT_FAULTS)[number]

/** A requested fault: where (`POST /v1/refunds`, `charge.refunded`, or `*`), which, and how many times. */
export interface FaultRule {
  readonly at: string
  readonly fault: string
  times: number
}

/** The requested faults of one account. */
export class Faults {
  private rules: FaultRule[] = []

  /** Adds a fault. */
  add(rule: FaultRule): void {
    this.rules.push(rule)
  }

  /** Removes all faults. */
  clear(): void {
    this.rules = []
  }

  /** The fault of a request, which counts as one of its times. The path may have `:id` for an id. */
  ofRequest(method: string, path: string): RequestFault | undefined {
    return this.take(REQUEST_FAULTS, (at) => {
      const [verb, where] = at.split(' ')
      return verb === method && where !== undefined && matches(where, path)
    })
  }

  /** The fault of an event of this type, which counts as one of its times. */
  ofEvent(type: string): EventFault | undefined {
    return this.take(EVENT_FAULTS, (at) => at === type)
  }

  private take<F extends string>(known: readonly F[], fits: (at: string) => boolean): F | undefined {
    const rule = this.rules.find(
      ({ at, fault, times }) => times > 0 && known.includes(fault as F) && (at === '*' || fits(at)),
    )
    if (!rule) return undefined
    rule.times -= 1
    return rule.fault as F
  }
}

function matches(pattern: string, path: string): boolean {
  const wanted = pattern.split('/')
  const given = path.split('/')
  return wanted.length === given.length && wanted.every((one, at) => one.startsWith(':') || one === given[at])
}
