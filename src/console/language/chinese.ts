/** The texts of the console in simplified Chinese. */
import type { Texts } from './english.ts'
import { calls } from './chinese/calls.ts'
import { credits } from './chinese/credits.ts'
import { entrance } from './chinese/entrance.ts'
import { errors } from './chinese/errors.ts'
import { frame } from './chinese/frame.ts'
import { keys } from './chinese/keys.ts'
import { overview } from './chinese/overview.ts'
import { settings } from './chinese/settings.ts'
import { members } from './chinese/members.ts'
import { webhooks } from './chinese/webhooks.ts'
import { models } from './chinese/models.ts'
import { playground } from './chinese/playground.ts'
import { accounts } from './chinese/accounts.ts'
import { operator } from './chinese/operator.ts'
import { catalogue } from './chinese/catalogue.ts'
import { providers } from './chinese/providers.ts'
import { records } from './chinese/records.ts'
import { words } from './chinese/words.ts'

export const chinese: Texts = {
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
