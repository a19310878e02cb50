import { expect } from 'chai'
import { startConsoleGateway } from '../../scripts/harness/console-gateway.ts'
import { post } from '../../scripts/harness/http.ts'
import { chinese } from '../../src/console/language/chinese.ts'
import { english } from '../../src/console/language/english.ts'
import { providerSettings } from '../api/console/support/provider.ts'
import { INSIDE, OUTSIDE, liveIn, settled } from './support/every-page.ts'
import type { LivedIn } from './support/every-page.ts'
import { consoleWithPages } from './support/pages.ts'
import { readsWell } from './support/untranslated.ts'
import type { Visit } from './support/visit.ts'
import { PHONE, seriousFaults } from './support/visit.ts'

/** The names of all texts of a table that are the same in another one. */
const same = (one: object, other: object, path = ''): string[] =>
  Object.entries(one).flatMap(([name, text]) => {
    const translated = (other as Record<string, unknown>)[name]
    if (typeof text === 'object') return same(text as object, translated as object, `${path}${name}.`)
    return typeof text === 'string' && text === translated ? [`${path}${name}`] : []
  })

/** The browser of a reader in Chinese. */
const READER = { locale: 'zh-CN', timezoneId: 'UTC' } as const

describe('the languages of the console', () => {
  const providers = providerSettings([{ id: 'local', label: '本地', issuer: 'http://127.0.0.1:9' }])
  const gateway = consoleWithPages(() => startConsoleGateway(providers))

  it('have every text in Chinese, but for names', () => {
    expect(same(english, chinese)).to.deep.equal(
      (
        'frame.page.api frame.search.webhook webhooks.webhook operator.ones.webhooks ' +
        'catalogue.parts.setting catalogue.protocols.anthropic catalogue.protocols.fal ' +
        'catalogue.protocols.replicate catalogue.protocols.openrouter'
      ).split(' '),
    )
  })

  describe('in Chinese, on every page', () => {
    const EMAIL = 'reader@example.com'
    let lived: LivedIn
    let visited: Visit
    before(async () => {
      lived = await liveIn(gateway, EMAIL, 'zh-CN')
      visited = await gateway.longVisit({ locale: 'zh-CN', viewport: PHONE })
    })

    const speaks = (path: string): void => {
      // Roles, colours and wider screens are those in English: pages.test.ts.
      it(`leave nothing in English, and fit a phone: ${path}`, async () => {
        const { page, faults, allow } = visited
        allow(/404.*\/nothing$/)
        await page.goto(`${gateway.url}${lived.address(path)}`)
        await page.getByRole('heading', { level: 1 }).waitFor()
        await settled(page)
        await readsWell(page, chinese)
        expect(faults()).to.deep.equal([])
      })
    }

    for (const { path } of OUTSIDE) speaks(path)

    describe('that ask for a session', () => {
      before(() => gateway.signIn(visited, EMAIL))

      for (const { path } of INSIDE) speaks(path)
      for (const path of ['/help', '/docs', '/operator/nothing', '/nothing', '/dev/mail']) speaks(path)
    })
  })

  it('have the dialogs of a new key in Chinese, and what is wrong in it, on a dark phone', async () => {
    const dark = { ...READER, viewport: PHONE, colorScheme: 'dark' } as const
    const { page, open, allow } = await gateway.signedIn('maker@example.com', { ...dark, language: 'zh-CN' })
    allow(/400 .*\/api\/keys$/)
    const press = (name: string) => page.getByRole('button', { name, exact: true }).click()
    const { frame, keys } = chinese
    await open('/keys', frame.page.keys)
    await press(keys.new)
    await page.getByText('不选择则允许全部。').first().waitFor({ state: 'attached' })
    await press(keys.create)
    await page.getByText('名称').filter({ hasText: '为空' }).or(page.getByText('名称为必填项。')).waitFor()
    await readsWell(page, chinese)
    expect(await seriousFaults(page)).to.deep.equal([])
    await page.getByLabel(keys.columns.name).fill('laptop')
    await press(keys.create)
    await page.getByTestId('secret').waitFor()
    await readsWell(page, chinese)
    expect(await seriousFaults(page)).to.deep.equal([])
  })

  it('are chosen in the settings, before that of the browser, until it is followed again', async () => {
    const { page, open } = await gateway.signedIn('chooser@example.com', { ...READER, language: 'zh-CN' })
    const settings = (name: string) => page.getByRole('heading', { level: 1, name }).waitFor()
    await open('/settings', '设置')
    await page.getByLabel('语言').selectOption('English')
    await settings('Settings')
    await open('/keys', 'Keys')
    await open('/settings', 'Settings')
    await page.getByLabel('Language').selectOption('Match the browser')
    await settings('设置')
  })
  it('are those of the account on a device where nothing was chosen, and sort by the same addresses', async () => {
    const email = 'mover@example.com'
    const { token } = await gateway.person(email, { language: 'zh-CN' })
    for (const name of ['b', 'a']) await post(`${gateway.url}/api/keys`, token, { name })
    const { page, open } = await gateway.signedIn(email)
    const names = () => page.locator('tbody tr td:first-child').allInnerTexts()
    await open('/keys', chinese.frame.page.keys)
    await page.getByRole('button', { name: chinese.keys.columns.name, exact: true }).click()
    await page.waitForURL(/\?sort-rows=name$/)
    expect(await names()).to.deep.equal(['a', 'b'])
    await open('/settings', chinese.frame.page.settings)
    await page.getByLabel(chinese.settings.appearance.language).selectOption('browser')
    await page.getByRole('heading', { level: 1, name: english.frame.page.settings }).waitFor()
    await gateway.db('users').where({ email }).update({ language: 'zh-CN' })
    await open('/keys?sort-rows=-name', english.frame.page.keys)
    await page.getByRole('link', { name: english.frame.page.overview }).waitFor()
    expect(await names()).to.deep.equal(['b', 'a'])
    expect(await page.evaluate('document.documentElement.lang')).to.equal('en')
  })
})
