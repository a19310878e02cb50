/** Models that reason: what they bill besides their words is known only once their upstream has reported it. */
import { DIALECTS, dialectOf } from '../../shared/chat/dialect.ts'
import type { Dialect } from '../../shared/chat/dialect.ts'
import type { ChatRequest } from '../../shared/requests/requests.ts'
import type { Route } from '../../shared/catalogue/catalogue.ts'
import { asFields } from '../../shared/platform/fields.ts'

/** The upstreams' models that have reported reasoning to this process. */
export class Reasoners {
  private readonly known = new Set<string>()

  /** Remembers a model that has reported reasoning. */
  add(route: Route): void {
    this.known.add(nameOf(route))
  }

  /** Whether a model is known to reason. */
  has(route: Route): boolean {
    return this.known.has(nameOf(route))
  }
}

const nameOf = ({ upstream, model }: Route): string => `${upstream.name} ${model}`

/** Whether a chat asks for reasoning: by its request, in its dialect, or by what the catalogue sets, in any. */
export function asksForReasoning(
  request: ChatRequest,
  dialect: Dialect | undefined,
  { set }: Pick<Route, 'set'>,
): boolean {
  const fields = asFields(set)
  return (
    dialectOf(dialect).asksForReasoning({ ...request, ...fields }) ||
    DIALECTS.some((one) => dialectOf(one).asksForReasoning(fields))
  )
}
