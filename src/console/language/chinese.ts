/**
 * The texts of the console in simplified Chinese. It imports no values of other folders: the texts wait for it.
 */
import type { Texts } from './english.ts'
import { calls } from './chinese/calls.ts'
import { credits } from './chinese/credits.ts'
import { entrance } from './chinese/entrance.ts'
import { frame } from './chinese/frame.ts'
import { keys } from './chinese/keys.ts'
import { overview } from './chinese/overview.ts'
import { settings } from './chinese/settings.ts'
import { words } from './chinese/words.ts'

export const chinese: Texts = { words, frame, entrance, overview, calls, keys, credits, settings }
