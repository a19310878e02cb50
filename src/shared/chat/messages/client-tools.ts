/**
 * The tools of Anthropic's own kinds that a client runs: a Claude knows them by their type, other models by a
 * description and a schema. Source: Anthropic's pages on each tool, November 2026.
 */
import type { Tool } from '../canonical.ts'

type Described = Required<Pick<Tool, 'description' | 'schema'>>

const TEXT = { type: 'string' }
const NUMBER = { type: 'integer' }
const NUMBERS = { type: 'array', items: NUMBER }

const described = (description: string, properties: Record<string, object>, ...required: string[]): Described => ({
  description,
  schema: { type: 'object', properties, required },
})

const commands = (...names: string[]) => ({ type: 'string', enum: names })

const EDITED = {
  path: TEXT,
  file_text: { ...TEXT, description: 'Of create.' },
  old_str: { ...TEXT, description: 'Of str_replace: the text to replace, which is there once.' },
  new_str: { ...TEXT, description: 'Of str_replace: the text in its place.' },
  insert_line: { ...NUMBER, description: 'Of insert: the line after which the text is put; 0 for the beginning.' },
  insert_text: { ...TEXT, description: 'Of insert.' },
  view_range: { ...NUMBERS, description: 'Of view: the first and the last line; -1 for the end.' },
}

const POINT = { ...NUMBERS, description: 'x and y, in pixels.' }

/** By what their types begin with. */
const DESCRIBED: Readonly<Record<string, Described>> = {
  bash: described('Runs a command in a bash session that stays open, or restarts it.', {
    command: TEXT,
    restart: { type: 'boolean' },
  }),
  text_editor: described(
    'Shows, creates and edits text files.',
    { command: commands('view', 'create', 'str_replace', 'insert'), ...EDITED },
    'command',
    'path',
  ),
  memory: described(
    'Reads and changes files under /memories, which stay from one conversation to the next.',
    {
      command: commands('view', 'create', 'str_replace', 'insert', 'delete', 'rename'),
      ...EDITED,
      old_path: { ...TEXT, description: 'Of rename.' },
      new_path: { ...TEXT, description: 'Of rename.' },
    },
    'command',
  ),
  computer: described(
    'Operates a computer by its screen, keyboard and mouse.',
    {
      action: {
        ...TEXT,
        description:
          'screenshot, left_click, right_click, middle_click, double_click, triple_click, left_click_drag, ' +
          'mouse_move, scroll, type, key, hold_key, wait, cursor_position',
      },
      coordinate: POINT,
      start_coordinate: POINT,
      text: { ...TEXT, description: 'What to type, or the key.' },
      scroll_direction: commands('up', 'down', 'left', 'right'),
      scroll_amount: NUMBER,
      duration: { type: 'number', description: 'In seconds.' },
    },
    'action',
  ),
}

/** What other models are told of a tool of one of these types; undefined for any other. */
export const describedTool = (type: unknown): Described | undefined =>
  DESCRIBED[/^([a-z_]+)_\d+$/.exec(String(type))?.[1] ?? '']
