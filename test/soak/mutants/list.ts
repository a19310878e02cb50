import { OF_BUDGETS } from './budgets.ts'
import { CALL_PATH } from './call-path.ts'
import { OF_CATALOGUE } from './catalogue.ts'
import { CHARGING } from './charging.ts'
import { OF_DEDUCTIONS } from './deductions.ts'
import { OF_AUDIO } from './audio.ts'
import { OF_EMBEDDINGS } from './embeddings.ts'
import { ENDING } from './ending.ts'
import { OF_GROUPS } from './groups.ts'
import { BEGINS } from './begins.ts'
import { OF_HOLDS } from './holds.ts'
import { OF_MESSAGES } from './messages.ts'
import type { Mutant } from './mutant.ts'
import { OF_PAYMENTS } from './payments.ts'
import { OF_PICTURES } from './pictures.ts'
import { PRICES } from './prices.ts'
import { OF_READING } from './reading.ts'
import { OF_SMALL_CALLS } from './small-calls.ts'
import { OF_SHARING } from './sharing.ts'
import { OF_TOKENS } from './tokens.ts'
import { OF_USAGE } from './usage.ts'
import { OF_WEBHOOKS } from './webhooks.ts'
import { OF_VIDEOS } from './videos.ts'

/** All bugs that the tests must find. */
export const MUTANTS: readonly Mutant[] = [
  ...CHARGING,
  ...ENDING,
  ...OF_BUDGETS,
  ...OF_HOLDS,
  ...OF_TOKENS,
  ...OF_DEDUCTIONS,
  ...OF_PAYMENTS,
  ...CALL_PATH,
  ...BEGINS,
  ...PRICES,
  ...OF_CATALOGUE,
  ...OF_SHARING,
  ...OF_USAGE,
  ...OF_READING,
  ...OF_MESSAGES,
  ...OF_AUDIO,
  ...OF_EMBEDDINGS,
  ...OF_GROUPS,
  ...OF_SMALL_CALLS,
  ...OF_WEBHOOKS,
  ...OF_VIDEOS,
  ...OF_PICTURES,
]
