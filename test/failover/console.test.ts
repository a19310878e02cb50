import { cpSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { RequestListener, Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Router from '@koa/router'
import { expect } from 'chai'
import Koa from 'koa'
import { ensureConsole } from '../../scripts/build/console.ts'
import { root } from '../../scripts/folders.ts'
import type { RequestState } from '../../src/api/middleware/request-context.ts'
import { reportDefect } from '../../src/shared/platform/process/defects.ts'
import { routeConsole } from '../../src/api/static/console.ts'
import { closeBrowser, openBrowser, openPage } from '../support/browser.ts'

/** Serves a build of the console, as a web process does. */
function serving(folder: string): RequestListener {
  const router = new Router<RequestState>()
  routeConsole(router, { BASE_URL: 'http://localhost', S3_ENDPOINT: undefined }, (_ctx, next) => next(), folder)
  const handle = new Koa<RequestState>().use(router.routes()).callback()
  return (request, response) => {
    handle(request, response).catch(reportDefect)
  }
}

/** Another build: what its document names is called otherwise. */
function anotherBuild(folder: string): string {
  const next = mkdtempSync(join(tmpdir(), 'tollgate-console-'))
  cpSync(folder, next, { recursive: true })
  const page = readFileSync(join(next, 'index.html'), 'utf8')
  const all = readdirSync(join(next, 'console'))
  const texts = all.filter((name) => /^english-[\w-]+\.js$/.test(name))
  const named = [...page.matchAll(/\/console\/([\w.-]+\.(?:js|css))/g)].map(([, name]) => name!).concat(texts)
  const files = ['index.html', ...all.map((name) => `console/${name}`)]
  for (const file of files) {
    if (/\.(br|gz)$/.test(file)) rmSync(join(next, file))
    else if (/\.(html|js|css)$/.test(file)) {
      const text = named.reduce(
        (was, name) => was.replaceAll(name, `next-${name}`),
        readFileSync(join(next, file), 'utf8'),
      )
      writeFileSync(join(next, file), text)
    }
  }
  for (const name of new Set(named)) renameSync(join(next, 'console', name), join(next, 'console', `next-${name}`))
  for (const name of ['index.html.br', 'index.html.gz']) rmSync(join(next, name), { force: true })
  return next
}

describe('the console while two releases run side by side', function () {
  let next: string
  let server: Server
  let url: string
  /** What the older release is asked for. */
  let older: RegExp
  before(async function () {
    await openBrowser(this)
    await ensureConsole()
    next = anotherBuild(join(root, 'dist/console'))
    const [old, new_] = [serving(join(root, 'dist/console')), serving(next)]
    server = createServer((request, response) => (older.test(request.url!) ? old : new_)(request, response))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  after(async () => {
    await closeBrowser()
    server?.close()
    if (next) rmSync(next, { recursive: true })
  })

  for (const [what, pattern] of [
    ['its first script', /\/console\/.*\.js$/],
    ['its texts', /\/console\/next-english.*\.js$/],
    ['its style', /\/console\/.*\.css$/],
    ['all its files', /^\/(console|pages)\//],
  ] as const) {
    it(`says so, and comes by itself, where the older one was asked for ${what}`, async function () {
      older = pattern
      const { page, faults, close } = await openPage(await openBrowser(this), url)
      await page.goto(`${url}/sign-in`)
      await page.getByText('The console is being updated').waitFor()
      older = /^$/
      await page.getByRole('button', { name: 'Sign in' }).waitFor()
      expect(await page.evaluate('sessionStorage.length')).to.equal(0)
      // The console waits for its texts in vain.
      expect(faults.filter((fault) => !fault.startsWith('error: Failed to fetch dynamically'))).to.deep.equal([])
      await close()
    })
  }

  it('is served by both under the names that stay', async () => {
    for (older of [/^$/, /./]) {
      for (const path of ['/pages/updating.js', '/pages/icon.svg', '/sign-in'])
        expect((await fetch(`${url}${path}`)).status, path).to.equal(200)
    }
  })
})
