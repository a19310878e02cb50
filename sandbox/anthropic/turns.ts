import { asFields, asText } from '../wire.ts'
import type { Fields } from '../wire.ts'
import { checkBlock } from './blocks.ts'
import { abilitiesOf } from './models.ts'
import { invalid } from './refusals.ts'

/** A turn as it came; `at`: its place in the request. */
interface Turn {
  readonly at: number
  readonly role: string
  readonly content: unknown
}

/**
 * The messages of a request.
 * @throws {Refusal} 400 for roles and blocks that the API does not know, for thoughts that it did not think, and for
 *   calls and results of tools that do not belong together
 */
export function checkTurns(model: string, messages: unknown): readonly unknown[] {
  if (!Array.isArray(messages) || messages.length === 0) throw invalid('messages: at least one message is required')
  const turns = messages.map((message, at): Turn => {
    const { role, content } = asFields(message)
    return { at, role: asText(role), content }
  })
  for (const turn of turns) checkTurn(model, turn)
  if (turns[0]!.role !== 'user') throw invalid('messages: first message must use the "user" role')
  checkCalls(turns)
  checkEnd(turns.at(-1)!)
  return messages
}

function checkTurn(model: string, { at, role, content }: Turn): void {
  const where = `messages.${at}`
  const roles = abilitiesOf(model).isNew ? ['user', 'assistant', 'system'] : ['user', 'assistant']
  if (!roles.includes(role)) {
    const names = roles.map((name) => `'${name}'`)
    throw invalid(`${where}.role: Input should be ${names.slice(0, -1).join(', ')} or ${names.at(-1)}`)
  }
  if (typeof content === 'string' && content.trim() !== '') return
  if (!Array.isArray(content) || content.length === 0) throw invalid(`${where}.content: Field required`)
  for (const [number, block] of content.entries()) checkBlock(asFields(block), `${where}.content.${number}`, role)
}

const blocksOf = ({ content }: Pick<Turn, 'content'>): Fields[] => (Array.isArray(content) ? content.map(asFields) : [])

const idsOf = (content: Fields[], type: string, field: string): string[] =>
  content.filter((block) => block['type'] === type).map((block) => asText(block[field]))

/** Every call is answered by the user's turn behind it, in front of anything else there; nothing else is answered. */
function checkCalls(turns: readonly Turn[]): void {
  const joined = neighboursJoined(turns)
  for (const [number, turn] of joined.entries()) {
    const before = joined[number - 1]
    const called = before?.role === 'assistant' ? idsOf(before.blocks, 'tool_use', 'id') : []
    const results = turn.role === 'user' ? idsOf(turn.blocks, 'tool_result', 'tool_use_id') : []
    const odd = results.find((id, at) => !called.includes(id) || results.indexOf(id) !== at)
    if (odd !== undefined) {
      throw invalid(
        `messages.${turn.at}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${odd}. Each ` +
          '`tool_result` block must have a corresponding `tool_use` block in the previous message.',
      )
    }
    const first = turn.blocks.slice(0, results.length)
    const missing = called.filter((id) => !idsOf(first, 'tool_result', 'tool_use_id').includes(id))
    if (missing.length > 0) throw unanswered(before!.at, missing)
  }
  const last = joined.at(-1)!
  const open = idsOf(last.blocks, 'tool_use', 'id')
  if (open.length > 0) throw unanswered(last.at, open)
}

function unanswered(at: number, ids: string[]): Error {
  const named = ids.join(', ')
  return invalid(
    `messages.${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${named}. Each ` +
      '`tool_use` block must have a corresponding `tool_result` block in the next message.',
  )
}

/** The API takes neighbours of one role for one turn. */
function neighboursJoined(turns: readonly Turn[]): { at: number; role: string; blocks: Fields[] }[] {
  const joined: { at: number; role: string; blocks: Fields[] }[] = []
  for (const turn of turns) {
    const last = joined.at(-1)
    const blocks = blocksOf(turn)
    // A text alone is a block.
    const said = blocks.length > 0 ? blocks : [{ type: 'text', text: turn.content }]
    if (last?.role === turn.role) last.blocks.push(...said)
    else joined.push({ at: turn.at, role: turn.role, blocks: [...said] })
  }
  return joined
}

function checkEnd({ role, content }: Turn): void {
  const last: unknown = Array.isArray(content) ? asFields(content.at(-1))['text'] : content
  if (role === 'assistant' && /\s$/.test(asText(last))) {
    throw invalid('messages: final assistant content cannot end with trailing whitespace')
  }
}
