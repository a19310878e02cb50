/**
 * Models that reason: what they bill besides their words is known only once their upstream has reported it.
 */
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

/** Whether a request asks for reasoning, by its own fields or those that the catalogue sets, in any vendor's form. */
export function asksForReasoning(request: ChatRequest, { set }: Pick<Route, 'set'>): boolean {
  const { reasoning_effort: effort, thinking, reasoning, enable_thinking: enabled } = { ...request, ...asFields(set) }
  return (
    isEffort(effort) ||
    (isGiven(thinking) && asFields(thinking).type !== 'disabled') ||
    (isGiven(reasoning) && asFields(reasoning).enabled !== false && asFields(reasoning).effort !== 'none') ||
    enabled === true
  )
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null

const isEffort = (value: unknown): boolean => isGiven(value) && value !== 'none'
