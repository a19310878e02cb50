import { createHash } from 'node:crypto'
import { isText } from '../../shared/platform/fields.ts'

/** The longest name of an end user that OpenAI takes, in characters. */
const LONGEST = 64

/** The name of an end user; its hash if it is longer than upstreams take. */
export const shortUser = (user: string): string =>
  user.length <= LONGEST ? user : createHash('sha256').update(user).digest('hex')

/** Fields whose `user`, if they have one, is named so. */
export const withShortUser = <T extends { user?: unknown }>(fields: T): T =>
  isText(fields.user) ? { ...fields, user: shortUser(fields.user) } : fields
