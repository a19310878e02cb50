/**
 * The texts of the console in English, by area. Those with parts are functions.
 */
import { calls } from './english/calls.ts'
import { credits } from './english/credits.ts'
import { entrance } from './english/entrance.ts'
import { frame } from './english/frame.ts'
import { keys } from './english/keys.ts'
import { overview } from './english/overview.ts'
import { settings } from './english/settings.ts'
import { words } from './english/words.ts'

export const english = { words, frame, entrance, overview, calls, keys, credits, settings }

/** Every text of the console. A language that lacks one, or has one more, does not compile. */
export type Texts = typeof english
