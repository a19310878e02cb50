import { expect } from 'chai'
import type { Page } from 'playwright-core'
import type { Language } from '../../../src/shared/terms/languages.ts'
import { chinese } from '../../../src/console/language/chinese.ts'
import type { Texts } from '../../../src/console/language/english.ts'
import { english } from '../../../src/console/language/english.ts'
import type { Part } from '../../../src/console/language/part.ts'
import { fitsTheScreen } from './visit.ts'

/** What both languages write alike: ids, addresses, names of products, units, and what people enter. */
const ALIKE = new RegExp(
  [
    '<[^>]*>|https?://\\S*|/[\\w/-]+|[\\w.+-]*@[\\w.]+|…[\\w-]{4,8}',
    '[A-Z][A-Z0-9_]{2,}=\\w+|[A-Za-z0-9]+(?:[-_.:…][\\w…*]+)+|[A-Z][A-Z0-9_]{2,}',
    'Tollgate|API|ID|IP|UTC|GMT|PIN|CSV|JSON|HTTP|POST|URL|curl|Python|JavaScript|[Ww]ebhooks?|[Tt]oken|p\\d\\d|\\d ms',
    'Ctrl K|Claude|Stripe|Postgres|Codex|English|Chrome|Headless|Linux|Safari|node|web|worker|Authorization|Bearer',
    'Chat Completions|Messages|Responses|Gemini|Standard Webhooks|Console playground|Sandbox|sandbox|openai',
    'anthropic|fal|replicate|openrouter|default|tg_\\w*',
    'unconfigured|unreachable|US\\$|(?:失败|无法连接): .*|[+~-] (?:model|upstream) [^]*|images、POST|command line',
    'Ada Lovelace|\\b(?:test|laptop|reader|maker|mover|chooser|receipts|hooked|why|unlucky)\\b',
  ].join('|'),
  'g',
)

/** Every text of a page that somebody reads or hears, but for code, what people enter, and documents in English. */
const TEXTS = `(() => {
  const NOT_PROSE = 'noscript, script, style, code, textarea, .brand, .initial'
  const UNREAD = NOT_PROSE + ', [lang=en], .mail, label.check:has([name^=model-])'
  const found = [document.title.split(' · ')[0]]
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT)
  while (walker.nextNode()) {
    const node = walker.currentNode
    if ((node.parentElement ?? node).closest(UNREAD)) continue
    if (node.nodeType === Node.TEXT_NODE) found.push(node.data)
    else {
      for (const name of ['aria-label', 'placeholder', 'alt']) found.push(node.getAttribute(name) ?? '')
      if (node.tagName !== 'SPAN' && node.tagName !== 'TIME') found.push(node.title ?? '')
    }
  }
  return found
})()`

/** The texts of a page that are not in Chinese. */
async function untranslated(page: Page): Promise<string[]> {
  const texts = await page.evaluate<string[]>(TEXTS)
  return texts.filter((text) => /[A-Za-z]{2}/.test(text.replaceAll(ALIKE, '')))
}

/** For tests in every language: its texts, and the options of a reader of it. */
export const EACH_LANGUAGE: readonly { t: Texts; reader: { locale: string; language: Language } }[] = [
  { t: english, reader: { locale: 'en-US', language: 'en' } },
  { t: chinese, reader: { locale: 'zh-CN', language: 'zh-CN' } },
]

/** A text with parts, as it is read. */
export const plain = (part: Part): string => [part].flat(9).map(String).join('')

/** Expects a page to fit the screen, and to have nothing that is not in this language. */
export async function readsWell(page: Page, t: Texts): Promise<void> {
  if (t === chinese) expect(await untranslated(page), page.url()).to.deep.equal([])
  await fitsTheScreen(page)
}
