/** banner show · set · remove */
import { newId } from '../../shared/platform/ids.ts'
import { LEVELS, MAX_BANNER_TEXT, findBanner, removeBanner, setBanner } from '../../shared/operators/banners.ts'
import type { Banner } from '../../shared/operators/banners.ts'
import { label } from '../../shared/platform/text-fields.ts'
import type { Command } from '../command.ts'
import { CommandError } from '../command.ts'
import { futureOf, textOf } from '../fields.ts'

const describe = (banner: Banner | null): string =>
  banner ? `${banner.level}, ${banner.from} to ${banner.until ?? 'its removal'}: ${banner.text}` : 'There is no banner.'

/** The banner above every page. */
export const bannerCommands: Command[] = [
  {
    usage: 'banner show',
    summary: 'Show the banner that is displayed above every page of the console, or is scheduled.',
    run: async (db) => {
      const banner = await findBanner(db)
      return { json: { banner }, text: describe(banner) }
    },
  },
  {
    usage: `banner set <text> [--level ${LEVELS.join('|')}] [--from <ISO>] [--until <ISO>]`,
    summary: 'Set the banner, replacing the current one. Without --until it stays until it is removed.',
    options: ['level', 'from', 'until'],
    run: async (db, [given = ''], { level = 'info', ...times }) => {
      const text = textOf('The text', label(MAX_BANNER_TEXT), given.trim())
      const known = LEVELS.find((one) => one === level)
      if (!known) throw new CommandError(`--level must be one of ${LEVELS.join(', ')}.`)
      const from = times.from === undefined ? null : futureOf('--from', times.from)
      const until = times.until === undefined ? null : futureOf('--until', times.until)
      if (from && until && until <= from) throw new CommandError('--until must be after --from.')
      await setBanner(db, null, { id: newId('banner'), text, level: known, from, until })
      const banner = await findBanner(db)
      return { json: { banner }, text: describe(banner) }
    },
  },
  {
    usage: 'banner remove',
    summary: 'Remove the banner.',
    run: async (db) => {
      const removed = await removeBanner(db, null)
      return { json: { removed }, text: removed ? 'The banner is removed.' : 'There is no banner.' }
    },
  },
]
