import { asFields, asText } from '../wire.ts'
import type { Fields } from '../wire.ts'
import { abilitiesOf } from './models.ts'
import { invalid } from './refusals.ts'

/** Source: the API's reference, "Create a Message" and "Count tokens in a Message". */
const COUNTED: ReadonlySet<string> = new Set([
  'cache_control',
  'context_management',
  'mcp_servers',
  'messages',
  'model',
  'output_config',
  'speed',
  'system',
  'thinking',
  'tool_choice',
  'tools',
])
const CREATED: ReadonlySet<string> = new Set([
  ...COUNTED,
  'container',
  'fallbacks',
  'inference_geo',
  'max_tokens',
  'metadata',
  'service_tier',
  'stop_sequences',
  'stream',
  'temperature',
  'top_k',
  'top_p',
])

/**
 * The fields of a message that is to be made.
 * @throws {Refusal} 400 for one that the API does not know, and for a limit that the model does not take
 */
export function checkCreated(model: string, fields: Fields): void {
  checkKnown(CREATED, fields)
  checkLimit(model, fields['max_tokens'])
  checkThinking(model, fields)
  checkSampling(model, fields)
}

/**
 * The fields of a message that is only to be counted.
 * @throws {Refusal} 400 for one that the API does not know
 */
export function checkCounted(fields: Fields): void {
  checkKnown(COUNTED, fields)
}

function checkKnown(known: ReadonlySet<string>, fields: Fields): void {
  if (!asText(fields['model'])) throw invalid('model: Field required')
  const unknown = Object.keys(fields).find((name) => !known.has(name))
  if (unknown !== undefined) throw invalid(`${unknown}: Extra inputs are not permitted`)
}

function checkLimit(model: string, limit: unknown): void {
  if (limit === undefined) throw invalid('max_tokens: Field required')
  if (typeof limit !== 'number' || !Number.isInteger(limit)) {
    throw invalid('max_tokens: Input should be a valid integer')
  }
  if (limit < 1) throw invalid('max_tokens: Input should be greater than or equal to 1')
  const { maxTokens } = abilitiesOf(model)
  if (limit > maxTokens) {
    throw invalid(
      `max_tokens: ${limit} > ${maxTokens}, which is the maximum allowed number of output tokens for ${model}`,
    )
  }
}

const LEAST_BUDGET = 1024

function checkThinking(model: string, fields: Fields): void {
  const { type, budget_tokens: budget } = asFields(fields['thinking'])
  if (type === 'adaptive' && !abilitiesOf(model).isNew) {
    throw invalid('adaptive thinking is not supported on this model')
  }
  if (type === 'enabled') {
    if (typeof budget !== 'number') throw invalid('thinking.enabled.budget_tokens: Field required')
    if (budget < LEAST_BUDGET) {
      throw invalid(`thinking.enabled.budget_tokens: Input should be greater than or equal to ${LEAST_BUDGET}`)
    }
    if (budget >= Number(fields['max_tokens'])) {
      throw invalid('`max_tokens` must be greater than `thinking.budget_tokens`.')
    }
  }
  const { type: choice } = asFields(fields['tool_choice'])
  if (isThinking(fields) && (choice === 'any' || choice === 'tool')) {
    throw invalid('Thinking may not be enabled when tool_choice forces tool use.')
  }
}

/** Whether a request asks for thinking. */
export function isThinking(fields: Fields): boolean {
  const { type } = asFields(fields['thinking'])
  return type === 'enabled' || type === 'adaptive'
}

const SAMPLING = ['temperature', 'top_p', 'top_k']

/** A temperature is at most 1, and models with `reasoning` in their name take no sampling parameter. */
function checkSampling(model: string, fields: Fields): void {
  const given = SAMPLING.find((name) => fields[name] !== undefined)
  if (given && model.includes('reasoning')) throw invalid(`${given}: is not supported by this model`)
  const { temperature } = fields
  if (temperature === undefined) return
  if (typeof temperature !== 'number' || temperature < 0 || temperature > 1) {
    throw invalid('temperature: range: 0..1')
  }
}
