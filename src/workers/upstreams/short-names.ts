/**
 * Names of tools that are longer than a protocol takes, in requests of its own dialect and in their answers. A request
 * without such a name, and its answer, stay as they are.
 */
import { isFields } from '../../shared/platform/fields.ts'
import { SafeNames } from './sent-names.ts'
import type { Translation } from './translation.ts'

/** The names of one request that are sent shortened. */
export class ShortNames {
  private readonly names: SafeNames
  private readonly longest: number
  private hasAny = false

  /** @param longest in characters */
  constructor(longest: number) {
    this.longest = longest
    this.names = new SafeNames(longest)
  }

  /** The value with every `name` in it as it is sent: the same one, if none is too long. */
  sent = <T>(value: T): T => withNames(value, this.short) as T

  /** A tool with its own name as it is sent; the names in its schema are no tools. */
  sentTool = <T extends Record<string, unknown>>(tool: T): T => {
    const name = this.short(tool.name)
    return name === tool.name ? tool : { ...tool, name }
  }

  /** The translation, whose frames have the names that the client knows. */
  restored(translation: Translation): Translation {
    if (!this.hasAny) return translation
    const restore = (frame: Record<string, unknown>) => withNames(frame, this.known) as Record<string, unknown>
    return {
      get isFinished() {
        return translation.isFinished
      },
      usageIn: (event) => translation.usageIn(event),
      frames: (event, isWhole) => translation.frames(event, isWhole).map(restore),
      end: (ending) => translation.end(ending).map(restore),
    }
  }

  private readonly short = (name: unknown): unknown => {
    if (typeof name !== 'string' || name.length <= this.longest) return name
    this.hasAny = true
    return this.names.of(name)
  }

  private readonly known = (name: unknown): unknown => this.names.asked(String(name)) ?? name
}

/** The value with other values in the place of every `name`; the same one, if nothing changes. */
function withNames(value: unknown, nameOf: (name: unknown) => unknown): unknown {
  if (!Array.isArray(value) && !isFields(value)) return value
  const entries = Object.entries(value).map(([key, one]): [string, unknown, unknown] => [
    key,
    one,
    key === 'name' && !Array.isArray(value) ? nameOf(one) : withNames(one, nameOf),
  ])
  if (entries.every(([, before, after]) => before === after)) return value
  const changed = entries.map(([key, , after]): [string, unknown] => [key, after])
  return Array.isArray(value) ? changed.map(([, after]) => after) : Object.fromEntries(changed)
}
