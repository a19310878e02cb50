import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { post } from '../../scripts/harness/http.ts'
import { chinese } from '../../src/console/language/chinese.ts'
import { english } from '../../src/console/language/english.ts'
import { consoleWithPages } from './support/pages.ts'
import { PHONE, looksGood } from './support/visit.ts'

/** What both languages write alike: names of products, units, and what people enter or the server names. */
const ALIKE = new RegExp(
  [
    'Tollgate|API|ID|IP|UTC|GMT|PIN|CSV|curl|Webhook|[Tt]oken|https?|Ctrl K|Claude|English|p\\d\\d',
    'Chrome|Headless|Linux|Safari|Authorization: Bearer tg_|tg_[\\w…]+|/[\\w-]+|[\\w.-]*@[\\w.]+|HTTP \\d+',
    '…[0-9a-f]{8}|\\b(?:reader|payer|laptop|test)\\b|sandbox[\\w-]*',
  ].join('|'),
  'g',
)

/** Every text of a page that somebody reads or hears, but for the names of models, which its boxes have. */
const TEXTS = `(() => {
  const UNREAD = 'noscript, script, style, code, .brand, .initial, label.check:has([name^=model-])'
  const found = [document.title.split(' · ')[0]]
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT)
  while (walker.nextNode()) {
    const node = walker.currentNode
    if (node.nodeType === Node.TEXT_NODE) {
      if (!node.parentElement.closest(UNREAD)) found.push(node.data)
    } else {
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

/** The names of all texts of a table that are the same in another one. */
const same = (one: object, other: object, path = ''): string[] =>
  Object.entries(one).flatMap(([name, text]) => {
    const translated = (other as Record<string, unknown>)[name]
    if (typeof text === 'object') return same(text as object, translated as object, `${path}${name}.`)
    return typeof text === 'string' && text === translated ? [`${path}${name}`] : []
  })

describe('the languages of the console', () => {
  const gateway = consoleWithPages()

  it('have every text in Chinese, but for names', () => {
    expect(same(english, chinese)).to.deep.equal(['frame.page.api', 'frame.search.webhook'])
  })

  it('follow the browser outside: nothing is left in English', async () => {
    const { page, open } = await gateway.visit({ locale: 'zh-CN' })
    const pages = [
      ['/sign-in', '登录'],
      ['/sign-up', '注册账户'],
      ['/forgot', '忘记密码？'],
      ['/verify', '请打开邮件中的链接'],
    ] as const
    for (const [path, heading] of pages) {
      await open(path, heading)
      expect(await untranslated(page), path).to.deep.equal([])
      await looksGood(page)
    }
    expect(await page.evaluate('document.documentElement.lang')).to.equal('zh-CN')
  })

  it('follow the browser inside, on a phone: nothing is left in English', async () => {
    const { page, open } = await gateway.signedIn('reader@example.com', {
      credits: 1200,
      locale: 'zh-CN',
      viewport: PHONE,
    })
    const pages = [
      ['/overview', '概览', '还没有调用'],
      ['/keys', '密钥', '还没有密钥'],
      ['/credits', '额度', '收到额度'],
      ['/settings', '设置', '当前会话'],
    ] as const
    for (const [path, heading, loaded] of pages) {
      await open(path, heading)
      await page.getByText(loaded).first().waitFor()
      expect(await untranslated(page), path).to.deep.equal([])
      await looksGood(page)
    }
    await open('/keys', '密钥')
    await page.getByRole('button', { name: '新建密钥' }).click()
    await page.getByText('不选择则允许全部。').first().waitFor({ state: 'attached' })
    expect(await untranslated(page)).to.deep.equal([])
    await page.getByLabel('名称').fill('laptop')
    await page.getByRole('button', { name: '创建密钥' }).click()
    await page.getByText('请立即复制').waitFor()
    expect(await untranslated(page)).to.deep.equal([])
  })

  it('explain a call and its receipt in Chinese', async () => {
    const email = 'payer@example.com'
    const { secret } = await gateway.customer(email, 500)
    await post(`${gateway.url}/v1/images/generations`, secret, { model: 'sandbox-image', prompt: 'a fox' })
    const { page, open } = await gateway.signedIn(email, { locale: 'zh-CN', timezoneId: 'UTC' })
    await open('/calls', '调用')
    const row = page.getByRole('row', { name: 'sandbox-image' })
    await row.getByText('成功').waitFor()
    expect(await untranslated(page)).to.deep.equal([])
    await row.getByRole('link').click()
    await page.getByTestId('receipt').getByText('数量 × 价格').waitFor()
    expect(await untranslated(page)).to.deep.equal([])
    await looksGood(page)
  })

  it('are chosen in the settings, before that of the browser, until it is followed again', async () => {
    const { page, open } = await gateway.signedIn('chooser@example.com', { locale: 'zh-CN' })
    const settings = (name: string) => page.getByRole('heading', { level: 1, name }).waitFor()
    await open('/settings', '设置')
    await page.getByLabel('语言').selectOption('English')
    await settings('Settings')
    await open('/keys', 'Keys')
    await open('/settings', 'Settings')
    await page.getByLabel('Language').selectOption('Match the browser')
    await settings('设置')
  })
})
