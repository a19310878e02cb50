const DOLLARS_PER_TOKEN = 0.000002

/** The cost of tokens in US dollars, as this sandbox's OpenRouter reports it. */
export function costOf(tokens: number): number {
  return Number((tokens * DOLLARS_PER_TOKEN).toFixed(6))
}
