import { createHash } from 'node:crypto'

/** The longest name of an end user that OpenAI takes, in characters. */
const LONGEST = 64

/** The name of an end user; its hash if it is longer than upstreams take. */
export const shortUser = (user: string): string =>
  user.length <= LONGEST ? user : createHash('sha256').update(user).digest('hex')
