import { asFields } from '../wire.ts'

const MAX_DEPTH = 8

/** A value that fits a JSON schema, of the simple kind that tools have. `text` is the content of its strings. */
export function sampleOf(schema: unknown, text = 'sandbox', depth = 0): unknown {
  const fields = asFields(schema)
  if ('const' in fields) return fields['const']
  const choices = [fields['enum'], fields['anyOf'], fields['oneOf']].find((one) => Array.isArray(one) && one.length > 0)
  if (Array.isArray(choices)) return choices === fields['enum'] ? choices[0] : sampleOf(choices[0], text, depth + 1)
  const type: unknown = Array.isArray(fields['type']) ? fields['type'][0] : fields['type']
  switch (type) {
    case 'string':
      return text
    case 'integer':
      return typeof fields['minimum'] === 'number' ? Math.ceil(fields['minimum']) : 1
    case 'number':
      return typeof fields['minimum'] === 'number' ? fields['minimum'] : 1.5
    case 'boolean':
      return true
    case 'null':
      return null
    case 'array':
      return depth < MAX_DEPTH ? [sampleOf(fields['items'] ?? { type: 'string' }, text, depth + 1)] : []
    default:
      return depth < MAX_DEPTH ? sampleObject(asFields(fields['properties']), text, depth) : {}
  }
}

function sampleObject(properties: Record<string, unknown>, text: string, depth: number): Record<string, unknown> {
  return Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, sampleOf(one, text, depth + 1)]))
}
