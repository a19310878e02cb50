/** Moderations of OpenAI's kind. */
import { asFields, isFields } from '../../../shared/platform/fields.ts'
import { resultsOf } from '../../../shared/requests/moderations.ts'
import type { Moderation, ModerationAdapter } from '../adapter.ts'
import { applyRules } from '../body-rules.ts'
import { malformedAnswer, unfailed } from '../failures.ts'
import type { UpstreamHttp } from '../http.ts'

/** The most categories of a result. */
const MAX_CATEGORIES = 200

/** The moderations of every server that speaks OpenAI's wire format. */
export function createOpenaiModerations(http: UpstreamHttp): ModerationAdapter {
  return async (request, context) => {
    const json = applyRules({ ...request, model: context.route.model }, context.route)
    const asked = { method: 'POST', kind: 'moderation', path: '/moderations', body: { json } } as const
    const { results } = unfailed(await http.json(asked, context))
    if (!Array.isArray(results) || results.length !== resultsOf(request))
      throw malformedAnswer('the answer has not a result for each text')
    return results.map(moderationOf)
  }
}

/**
 * A result with the fields that are known of it. If `flagged` is missing, it follows from the categories.
 * @throws UpstreamError `unknown` for anything else
 */
function moderationOf(result: unknown): Moderation {
  const { flagged, categories, category_scores: scores, category_applied_input_types: types } = asFields(result)
  if (!isFields(categories)) throw malformedAnswer('a result of the answer has no categories')
  const found = entriesOf<boolean | null>(categories, (one) => one === null || typeof one === 'boolean')
  return {
    flagged: typeof flagged === 'boolean' ? flagged : Object.values(found).includes(true),
    categories: found,
    category_scores: entriesOf(scores, (one) => one === null || Number.isFinite(one)),
    ...(isFields(types) && { category_applied_input_types: entriesOf(types, isWords) }),
  }
}

const isWords = (value: unknown): boolean =>
  Array.isArray(value) && value.length <= MAX_CATEGORIES && value.every((one) => typeof one === 'string')

/** The entries whose values are what they should be. */
const entriesOf = <T>(value: unknown, isOne: (entry: unknown) => boolean): Record<string, T> =>
  Object.fromEntries(
    Object.entries(asFields(value))
      .slice(0, MAX_CATEGORIES)
      .filter(([, entry]) => isOne(entry)),
  ) as Record<string, T>
