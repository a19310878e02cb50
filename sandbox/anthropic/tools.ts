import type { Tool } from '../chat/answer.ts'
import { asFields, asText } from '../wire.ts'
import type { Fields } from '../wire.ts'
import { invalid } from './refusals.ts'

/** What ids and names consist of. */
export const ALPHABET = /^[a-zA-Z0-9_-]{1,128}$/

/**
 * The tools of a request that the sandbox may call: those that the client describes.
 * @throws {Refusal} 400 for names of another alphabet, and for schemas that are not of an object
 */
export function checkTools({ tools: given }: Fields): Tool[] {
  const tools = (Array.isArray(given) ? given : []).map(asFields)
  for (const [at, tool] of tools.entries()) {
    const { name, input_schema: schema } = tool
    if (!ALPHABET.test(asText(name))) throw invalid(`tools.${at}.name: String should match pattern ${ALPHABET.source}`)
    if (isDescribed(tool) && asFields(schema)['type'] !== 'object') {
      throw invalid(`tools.${at}.input_schema.type: Field required`)
    }
  }
  return tools.filter(isDescribed).map(({ name, input_schema: schema }) => ({ name: asText(name), schema }))
}

/** A tool of the API's own kinds has no schema. */
function isDescribed({ type }: Fields): boolean {
  return type === undefined || type === 'custom'
}
