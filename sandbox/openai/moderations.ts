import type { Exchange, Route } from '../exchange.ts'
import { admit, answer } from '../http/answer.ts'
import { asText } from '../wire.ts'
import { invalid } from './errors.ts'

const CATEGORIES = ['harassment', 'hate', 'illicit', 'self-harm', 'sexual', 'violence'] as const

/** Moderations of OpenAI. A text is flagged for each category whose name it contains. */
export const moderationRoute: Route = {
  method: 'POST',
  path: '/v1/moderations',
  submission: ({ fields }) => ({ model: asText(fields['model']), prompt: textsOf(fields['input'])[0] ?? '' }),
  handle: moderate,
}

type Part = { type?: unknown; text?: unknown; image_url?: { url?: unknown } }

/** The texts that get a result each: parts are judged together. */
function textsOf(input: unknown): string[] {
  if (!Array.isArray(input)) return [asText(input)]
  return typeof input[0] === 'string'
    ? input.map(asText)
    : [(input as Part[]).map(({ text }) => asText(text)).join(' ')]
}

async function moderate(exchange: Exchange): Promise<void> {
  const { steering, body } = exchange
  const { input } = body.fields
  const isMissing = input === undefined || input === null || (input as string | unknown[]).length === 0
  if (isMissing) throw invalid("'$.input' is invalid.", 'input')
  await admit(exchange, 'inline')
  const hasPictures = Array.isArray(input) && (input as Part[]).some((part) => part.type === 'image_url')
  const results = steering.empty ? [] : textsOf(input).map((text) => resultOf(text, hasPictures))
  await answer(exchange, { id: 'modr-sandbox', model: exchange.model, results })
}

function resultOf(text: string, hasPictures: boolean) {
  const of = <T>(value: (category: string) => T) =>
    Object.fromEntries(CATEGORIES.map((category) => [category, value(category)]))
  const types = hasPictures ? ['text', 'image'] : ['text']
  return {
    flagged: CATEGORIES.some((category) => text.includes(category)),
    categories: of((category) => text.includes(category)),
    category_scores: of((category) => (text.includes(category) ? 0.98 : 0.0001)),
    category_applied_input_types: of(() => types),
  }
}
