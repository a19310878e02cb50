/** What a model takes, by its name. */
export interface Abilities {
  /** The largest `max_tokens`. */
  readonly maxTokens: number
  /** Whether it decides itself how much it thinks, and takes turns of the system in the middle of a conversation. */
  readonly isNew: boolean
}

const OLDER: Abilities = { maxTokens: 64_000, isNew: false }
const NEWER: Abilities = { maxTokens: 128_000, isNew: true }

/** What a model takes: one with `haiku` in its name is of the older kind. */
export function abilitiesOf(model: string): Abilities {
  return model.includes('haiku') ? OLDER : NEWER
}
