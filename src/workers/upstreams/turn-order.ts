/**
 * The turns of a chat as every upstream takes them: results of tools follow their calls, and pictures and documents are
 * the user's. Pure.
 */
import type { Block, Turn } from '../../shared/chat/canonical.ts'

/** The only turn of a chat that has no content. */
const NOTHING: Turn = { role: 'user', blocks: [{ kind: 'text', text: '.' }] }

/**
 * The turns in this order. The name of a participant is in front of their words. What comes between calls and their
 * results is moved behind these; pictures and documents of the system and of assistants become a turn of the user
 * behind theirs.
 */
export function orderedTurns(turns: readonly Turn[]): Turn[] {
  const said = turns.map(withName).flatMap(filesApart)
  if (said.every(({ blocks }) => blocks.length === 0)) return [NOTHING]
  const unseen = new Set(said.flatMap(({ blocks }) => blocks.flatMap(resultOf)))
  const waitedFor = new Set<string>()
  const ordered: Turn[] = []
  const later: Turn[] = []
  for (const turn of said) {
    const calls = turn.blocks.flatMap((block) => (block.kind === 'tool_call' ? [block.id] : []))
    if (calls.length > 0) waitedFor.clear()
    if (waitedFor.size === 0) ordered.push(...later.splice(0))
    for (const id of turn.blocks.flatMap(resultOf)) waitedFor.delete(id)
    const [now, then] = waitedFor.size > 0 ? resultsApart(turn) : [turn.blocks, []]
    if (now.length > 0) ordered.push({ ...turn, blocks: now })
    if (then.length > 0) later.push({ ...turn, blocks: then })
    for (const id of calls) if (unseen.has(id)) waitedFor.add(id)
  }
  return [...ordered, ...later]
}

/** A turn whose text begins with the name of its speaker; but for an assistant, who would write the name again. */
function withName({ name, ...turn }: Turn): Turn {
  const [first, ...others] = turn.blocks
  if (name === undefined || turn.role === 'assistant' || !first) return turn
  const named = first.kind === 'text' ? { ...first, text: `${name}: ${first.text}` } : null
  return { ...turn, blocks: named ? [named, ...others] : [{ kind: 'text', text: `${name}:` }, first, ...others] }
}

const resultOf = (block: Block): string[] => (block.kind === 'tool_result' ? [block.callId] : [])

const isFile = ({ kind }: Block): boolean => kind === 'image' || kind === 'document'

function filesApart(turn: Turn): Turn[] {
  const files = turn.role === 'user' ? [] : turn.blocks.filter(isFile)
  if (files.length === 0) return [turn]
  return [
    { ...turn, blocks: turn.blocks.filter((block) => !isFile(block)) },
    { role: 'user', blocks: files },
  ]
}

const resultsApart = ({ blocks }: Turn): [results: Block[], others: Block[]] => [
  blocks.filter(({ kind }) => kind === 'tool_result'),
  blocks.filter(({ kind }) => kind !== 'tool_result'),
]
