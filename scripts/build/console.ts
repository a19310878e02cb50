import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { InlineConfig, Plugin } from 'vite'
import { filesIn, root } from '../folders.ts'
import { withLock } from '../services/lock.ts'
import { readIfThere } from '../services/secrets.ts'
import type { Language } from '../../src/shared/terms/languages.ts'

/** What the scripts of the first page may weigh together for a reader, in bytes of gzip. Others are fetched later. */
const MAX_SCRIPT_BYTES = 110_000

/** What all scripts of a reader may weigh together, in bytes of gzip. */
const MAX_ALL_BYTES = 160_000

/** The files of texts, by language. A reader fetches one of them, before the first page. */
const TEXTS: Record<Language, RegExp> = { en: /\/english-[\w-]+\.js$/, 'zh-CN': /\/chinese-[\w-]+\.js$/ }

/** What so many pages share is one file: a file for each combination of pages would be many requests. */
const SHARED_BY = 3

/** Smaller files gain nothing from compression. */
const COMPRESSED_BYTES = 1024

/** The sources from which the console in dist was built. */
const stamp = join(root, 'dist/console/.built')

const COMPRESSIBLE = new Set(['.html', '.css', '.js', '.svg'])

const smaller = {
  '.gz': (bytes: Buffer) => promisify(gzip)(bytes, { level: 9 }),
  '.br': (bytes: Buffer) =>
    promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } }),
}

/**
 * Builds the console into `dist/console`, with its compressed forms next to each file. The folder is replaced by two
 * renames, so that a program that starts meanwhile never reads half of it.
 * @throws Error where it does not build, or its scripts are too large
 */
export async function buildConsole(): Promise<void> {
  const dist = join(root, 'dist')
  const [next, done, old] = [join(dist, '.console-next'), join(dist, 'console'), join(dist, '.console-old')]
  mkdirSync(dist, { recursive: true })
  await bundle(next)
  await compressAll(next)
  const sizes = checkedSizes(next)
  rmSync(old, { recursive: true, force: true })
  try {
    renameSync(done, old)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  writeFileSync(join(next, '.built'), fingerprint())
  renameSync(next, done)
  rmSync(old, { recursive: true, force: true })
  // Not to standard output: a command that builds first prints JSON there.
  for (const line of sizes) console.error(line)
}

/**
 * The sizes of a build in words, a line for each language.
 * @throws Error where a language is too large for its readers, or is not a file of its own
 */
function checkedSizes(folder: string): string[] {
  const scripts = filesIn(folder).filter((path) => path.endsWith('.js'))
  const others = gzippedBytes(scripts.filter((path) => !Object.values(TEXTS).some((texts) => texts.test(path))))
  const first = firstPageBytes(folder)
  return Object.entries(TEXTS).map(([language, pattern]) => {
    const texts = gzippedBytes(scripts.filter((path) => pattern.test(path)))
    if (texts === 0) throw new Error(`the texts of ${language} are no file of their own`)
    const sizes = [first + texts, MAX_SCRIPT_BYTES, others + texts, MAX_ALL_BYTES] as const
    const [size, most, all, mostOfAll] = sizes.map((bytes) => `${(bytes / 1000).toFixed(1)} kB`)
    const line =
      `console in ${language}: ${size} of JavaScript gzipped for the first page, of at most ${most}; ` +
      `${all} for all pages, of at most ${mostOfAll}`
    if (sizes[0] > sizes[1] || sizes[2] > sizes[3]) throw new Error(line)
    return line
  })
}

/** Builds the console if its sources have changed: for tests and tools, which run without the rest of the build. */
export async function ensureConsole(): Promise<void> {
  await withLock(join(root, 'node_modules', '.tollgate-console.lock'), async () => {
    if (readIfThere(stamp) !== fingerprint()) await buildConsole()
  })
}

function fingerprint(): string {
  const hash = createHash('sha256').update(readFileSync(join(root, 'package-lock.json')))
  for (const path of filesIn(join(root, 'src/console')).toSorted()) hash.update(path).update(readFileSync(path))
  return hash.digest('hex')
}

/** What the build and the development server have in common. */
const common: InlineConfig = {
  configFile: false,
  root: join(root, 'src/console'),
  base: '/',
  logLevel: 'warn',
  publicDir: false,
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
}

/** What the web process serves in addition to the console's pages. */
const SERVED_BY_WEB = [
  '/api',
  '/pages',
  '/v1',
  '/media',
  '/docs',
  '/openapi.json',
  '/admin',
  '/hooks',
  '/healthz',
  '/readyz',
]

/**
 * Serves the console from its sources, changed modules at once, and passes everything else on to the web process at
 * `web`. Resolves with the address of the pages, and stops with this process.
 */
export async function serveConsole(web: string): Promise<string> {
  const { createServer } = await import('vite')
  const proxy = Object.fromEntries(SERVED_BY_WEB.map((path) => [path, web]))
  const server = await createServer({ ...common, mode: 'development', server: { host: '127.0.0.1', proxy } })
  await server.listen()
  // By the name in BASE_URL: browsers send the cookie of a sign-in at a provider to one host, at any port.
  return (server.resolvedUrls?.local[0] ?? '').replace('127.0.0.1', 'localhost')
}

/** The policy allows neither inline scripts (`modulePreload.polyfill`) nor `data:` URIs (inlined assets). */
async function bundle(outDir: string): Promise<void> {
  const { build } = await import('vite')
  const { NODE_ENV } = process.env
  await build({
    ...common,
    mode: 'production',
    plugins: [preloadedFont()],
    build: {
      outDir,
      emptyOutDir: true,
      assetsDir: 'console',
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      target: 'es2022',
      reportCompressedSize: false,
      rolldownOptions: { output: { codeSplitting: { groups: [{ name: 'shared', minShareCount: SHARED_BY }] } } },
    },
  })
  // Vite sets `production` for the whole process, and so for the tests that are started after a build.
  if (NODE_ENV === undefined) delete process.env.NODE_ENV
  else process.env.NODE_ENV = NODE_ENV
}

/** Has the document name the font, which the browser would find out late, and lay out all text twice. */
const preloadedFont = (): Plugin => ({
  name: 'preloaded-font',
  transformIndexHtml: {
    order: 'post',
    handler: (_html, { bundle = {} }) => {
      const fonts = Object.keys(bundle).filter((file) => file.startsWith('console/inter-latin-wght-'))
      if (fonts.length !== 1) throw new Error(`the build has ${fonts.length} files of the font`)
      const attrs = { rel: 'preload', as: 'font', crossorigin: true, href: `/${fonts[0]}` }
      return [{ tag: 'link', attrs, injectTo: 'head' }]
    },
  },
})

/** Writes the compressed forms of every file that gains by them. */
async function compressAll(folder: string): Promise<void> {
  await Promise.all(
    filesIn(folder).map(async (path) => {
      if (!COMPRESSIBLE.has(extname(path))) return
      const bytes = readFileSync(path)
      if (bytes.length < COMPRESSED_BYTES) return
      writeFileSync(`${path}.gz`, await smaller['.gz'](bytes))
      writeFileSync(`${path}.br`, await smaller['.br'](bytes))
    }),
  )
}

/** What the scripts that the document itself names weigh together, in bytes of gzip. */
function firstPageBytes(folder: string): number {
  const scripts = readFileSync(join(folder, 'index.html'), 'utf8').match(/console\/[\w.-]+\.js/g) ?? []
  return gzippedBytes([...new Set(scripts)].map((name) => join(folder, name)))
}

/** What files weigh together as they are sent, in bytes of gzip. */
const gzippedBytes = (paths: readonly string[]): number =>
  paths.reduce(
    (sum, path) => sum + (existsSync(`${path}.gz`) ? readFileSync(`${path}.gz`) : readFileSync(path)).length,
    0,
  )
