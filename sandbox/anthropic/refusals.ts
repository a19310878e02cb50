import { Refusal } from '../wire.ts'

/** A request that is refused with 400. */
export function invalid(message: string): Refusal {
  return new Refusal({ status: 400, message })
}
