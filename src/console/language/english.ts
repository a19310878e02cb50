/**
 * The texts of the console in English, by area. Those with parts are functions.
 */
import { calls } from './english/calls.ts'
import { credits } from './english/credits.ts'
import { entrance } from './english/entrance.ts'
import { errors } from './english/errors.ts'
import { frame } from './english/frame.ts'
import { keys } from './english/keys.ts'
import { overview } from './english/overview.ts'
import { settings } from './english/settings.ts'
import { members } from './english/members.ts'
import { webhooks } from './english/webhooks.ts'
import { models } from './english/models.ts'
import { playground } from './english/playground.ts'
import { accounts } from './english/accounts.ts'
import { operator } from './english/operator.ts'
import { catalogue } from './english/catalogue.ts'
import { providers } from './english/providers.ts'
import { records } from './english/records.ts'
import { words } from './english/words.ts'

export const english = {
  words,
  errors,
  frame,
  entrance,
  overview,
  calls,
  keys,
  credits,
  settings,
  providers,
  members,
  webhooks,
  models,
  playground,
  accounts,
  operator,
  catalogue,
  records,
}

/** Every text of the console. A language that lacks one, or has one more, does not compile. */
export type Texts = typeof english
