import { expect } from 'chai'
import { applyCatalogue } from '../../src/shared/operators/catalogue-changes.ts'
import { readVersion } from '../../src/shared/catalogue/versions.ts'
import { anAccount } from '../../scripts/harness/factories.ts'
import { get } from '../../scripts/harness/http.ts'
import type { Catalogue } from '../../scripts/harness/harness.ts'
import { until } from '../../scripts/harness/until.ts'
import { consoleWithPages } from './support/pages.ts'
import { fitsTheScreen, seriousFaults } from './support/visit.ts'

describe("the operator's page of the catalogue", () => {
  const gateway = consoleWithPages()

  it('changes a price after it has shown the difference, survives a conflict, and rolls back', async () => {
    const customer = await anAccount(gateway.db, 100)
    const listed = async (): Promise<unknown> => {
      const { json } = await get(`${gateway.url}/v1/models`, customer.key)
      return (json.data as { id: string; credits: number }[]).find(({ id }) => id === 'sandbox-image')!.credits
    }
    const first = (await readVersion(gateway.db, 'newest'))!.version
    const { page, open, allow } = await gateway.signedIn('prices@example.com', { admin: true })
    await open('/operator/catalogue', 'Catalogue')
    const credits = page.getByLabel('sandbox-image credits')
    const source = page.getByLabel('As JSON')
    const findings = page.getByTestId('findings')
    const compare = page.getByRole('button', { name: 'Check and compare' })

    // Every mistake is told with its model, and nothing can be applied.
    await credits.fill('-4')
    await source.fill((await source.inputValue()).replace('"gpt-sandbox"', '""'))
    await compare.click()
    await findings.getByText('Model sandbox-image:').waitFor()
    expect(await findings.innerText()).to.match(/Model sandbox-chat, upstream \w+: model/)
    expect(await page.getByRole('button', { name: /^Apply/ }).count()).to.equal(0)

    // The form writes into the text, and the text into the form.
    await page.reload()
    await credits.fill('55')
    expect(await source.inputValue()).to.contain('"credits": 55')

    // Somebody else applies meanwhile.
    await compare.click()
    await findings.getByText('credits').first().waitFor()
    expect(await findings.locator('del').innerText()).to.equal('40')
    const theirs = structuredClone((await readVersion(gateway.db, 'newest'))!.content) as Catalogue
    theirs.models.find(({ id }) => id === 'sandbox-video')!['credits'] = 260
    await applyCatalogue(gateway.db, { content: theirs, source: 'command', operator: null, note: null, expect: null })
    await page.getByLabel('Note').fill('dearer pictures')
    await page.getByRole('button', { name: `Apply as version ${first + 1}` }).click()
    await page.getByRole('alert').getByText('sandbox-video credits: 250 → 260').waitFor()
    expect(await credits.inputValue(), 'what was typed is still there').to.equal('55')
    expect((await readVersion(gateway.db, 'newest'))!.version).to.equal(first + 1)

    // Compared again: their change would be undone, so it is taken over before mine is applied.
    await page.getByLabel('sandbox-video credits').fill('260')
    await compare.click()
    await findings.getByText(`Compared with version ${first + 1}`).waitFor()
    expect(await findings.locator('ins').allInnerTexts()).to.deep.equal(['55'])
    expect(await seriousFaults(page)).to.deep.equal([])
    await page.getByRole('button', { name: `Apply as version ${first + 2}` }).click()
    await page.getByRole('heading', { name: `Version ${first + 2}` }).waitFor()
    await until('the new price', async () => (await listed()) === 55)
    const row = page.locator('tbody tr', { hasText: 'dearer pictures' })
    expect(await row.innerText()).to.contain('prices@example.com')

    await page.getByRole('button', { name: `Roll back to version ${first}`, exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.locator('ins', { hasText: /^40$/ }).waitFor()
    await dialog.getByRole('button', { name: 'Roll back', exact: true }).click()
    await page.getByRole('heading', { name: `Version ${first + 3}` }).waitFor()
    await until('the old price', async () => (await listed()) === 40)
    expect(await credits.inputValue()).to.equal('40')

    await page.setViewportSize({ width: 834, height: 1112 })
    await page.getByLabel('sandbox-chat Cached input', { exact: true }).waitFor()
    await fitsTheScreen(page)
    allow(/400|409/)
  })
})
