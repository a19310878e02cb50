/** From the canonical form of a chat to a request of the Gemini API, for clients of another dialect. */
import type { CanonicalChat, Tool } from '../../../shared/chat/canonical.ts'
import { argumentsSchema } from '../../../shared/chat/schemas.ts'
import { asFields } from '../../../shared/platform/fields.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import { contentsOf, systemParts } from './blocks.ts'
import { sentName } from './names.ts'
import type { Signing } from './signatures.ts'

/** The body of a request. */
export function bodyOf(chat: CanonicalChat, signing: Signing): Fields {
  const { tools } = chat
  const calling = callingOf(chat)
  return {
    ...conversationOf(chat, signing),
    ...(tools.length > 0 && { tools: [{ functionDeclarations: tools.map(declarationOf) }] }),
    ...(calling && { toolConfig: { functionCallingConfig: calling } }),
    generationConfig: configOf(chat, signing.model),
  }
}

/** The content of an empty conversation, and of one that would begin with the model. */
const NOTHING: Fields = { text: '.' }

/** The system's texts are separate from the contents; if there is nothing else, they are the user's. */
function conversationOf({ turns }: CanonicalChat, signing: Signing): Fields {
  const system = systemParts(turns)
  const contents = contentsOf(turns, signing)
  if (contents.length === 0) return { contents: [{ role: 'user', parts: system.length > 0 ? system : [NOTHING] }] }
  if (contents[0]!.role === 'model') contents.unshift({ role: 'user', parts: [NOTHING] })
  return { contents, ...(system.length > 0 && { systemInstruction: { parts: system } }) }
}

const declarationOf = ({ name, description, schema }: Tool): Fields => ({
  name: sentName(name),
  ...(description !== undefined && { description }),
  parametersJsonSchema: argumentsSchema(schema),
})

const MODES = { auto: 'AUTO', none: 'NONE', required: 'ANY' } as const

/** Whether tools may be called. Arguments follow their schemas where a call is required, or where that is asked for. */
function callingOf({ tools, toolChoice: choice }: CanonicalChat): Fields | undefined {
  if (tools.length === 0) return undefined
  if (typeof choice === 'object') return { mode: 'ANY', allowedFunctionNames: [sentName(choice.tool)] }
  const isFree = (choice ?? 'auto') === 'auto'
  if (isFree && tools.some(({ strict }) => strict === true)) return { mode: 'VALIDATED' }
  return choice && { mode: MODES[choice] }
}

function configOf(chat: CanonicalChat, model: string): Fields {
  const { sampling, stop, format, further } = chat
  const { temperature, top_p: topP, top_k: topK } = sampling
  const thinking = thinkingOf(chat, model)
  return {
    maxOutputTokens: chat.maxTokens,
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
    ...(topK !== undefined && { topK }),
    ...(typeof further.seed === 'number' && { seed: further.seed }),
    ...(stop.length > 0 && { stopSequences: stop }),
    ...(format && { responseMimeType: 'application/json', ...schemaOf(format) }),
    ...(thinking && { thinkingConfig: thinking }),
  }
}

const schemaOf = ({ schema, description }: NonNullable<CanonicalChat['format']>): Fields =>
  schema === null ? {} : { responseJsonSchema: description === undefined ? schema : { description, ...schema } }

/** How much models think, in their own words: those since Gemini 3 cannot be kept from it. */
const LEVELS: Readonly<Record<string, string>> = {
  none: 'low',
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'high',
  max: 'high',
}

/** The same in tokens, as earlier models want it: Google's docs, "OpenAI compatibility". */
const BUDGETS: Readonly<Record<string, number>> = {
  none: 0,
  minimal: 1024,
  low: 1024,
  medium: 8192,
  high: 24_576,
  xhigh: 24_576,
  max: 24_576,
}

/** Models that take a budget of thinking, and no level. */
const WITH_BUDGET = /gemini-2\.5/i

/** How much the model is to think. Who asks for thoughts is shown their summary, which costs nothing more. */
function thinkingOf({ effort, further }: CanonicalChat, model: string): Fields | undefined {
  const { type = 'disabled' } = asFields(further.thinking)
  const isShown = type !== 'disabled' || (effort !== undefined && effort !== 'none')
  const level = effort === undefined ? undefined : LEVELS[effort]
  if (level === undefined) return isShown ? { includeThoughts: true } : undefined
  const amount = WITH_BUDGET.test(model) ? { thinkingBudget: BUDGETS[effort!] } : { thinkingLevel: level }
  return { ...amount, ...(isShown && { includeThoughts: true }) }
}
