const DOLLARS_PER_TOKEN = 0.000002

/** What so many tokens cost at OpenRouter's sandbox, in US dollars. */
export function costOf(tokens: number): number {
  return Number((tokens * DOLLARS_PER_TOKEN).toFixed(6))
}
