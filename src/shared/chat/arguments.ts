/** The arguments of calls, as upstreams encode them. */
import { objectOf } from '../platform/fields.ts'

/** Whether the beginning of arguments is that of a JSON text: some encode the object a second time. */
export const isEncodedAgain = (text: string): boolean => /^\s*"/.test(text)

/** Arguments that are a JSON text of an object as that object; others as they are. */
export function decodedTwice(args: string): string {
  if (!isEncodedAgain(args)) return args
  try {
    const text: unknown = JSON.parse(args)
    return typeof text === 'string' && objectOf(text) ? text : args
  } catch {
    return args
  }
}
