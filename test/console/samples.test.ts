import { expect } from 'chai'
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { root } from '../../scripts/folders.ts'
import { clientProgram } from '../../scripts/testing/clients.ts'
import type { Example, Sample } from '../../src/console/parts/samples/samples.ts'
import { samplesOf, similarCurl } from '../../src/console/parts/samples/samples.ts'
import { DIALECTS } from '../../src/shared/chat/dialect.ts'
import { useGateway, useOneAccount } from '../support/gateway.ts'

const run = promisify(execFile)

const CHAT: Example = {
  kind: 'chat',
  fields: {
    model: 'sandbox-chat',
    messages: [
      { role: 'system', content: 'It\'s "true", not null: $HOME \\n.' },
      { role: 'user', content: "[answer well yes] Isn't it?" },
    ],
    temperature: 1.5,
  },
}
const VIDEO: Example = {
  kind: 'video',
  fields: { model: 'sandbox-video', prompt: 'a fox', resolution: '720p', duration: 4 },
}
const IMAGE: Example = { kind: 'image', fields: { model: 'sandbox-image', prompt: 'a fox\'s "den"' } }

/** Every kind of request, and what its samples print. */
const EXAMPLES: readonly (readonly [Example, RegExp])[] = [
  [CHAT, /well yes/],
  [IMAGE, /\/media\//],
  [VIDEO, /\/media\/|^completed/],
  [{ kind: 'embedding', fields: { model: 'sandbox-embedding', input: "a fox's den" } }, /0\.\d+/],
  [{ kind: 'moderation', fields: { model: 'sandbox-moderation', input: "it's violence" } }, /true/i],
  [
    { kind: 'rerank', fields: { model: 'sandbox-rerank', query: "a fox's den", documents: ['a fox', 'a car'] } },
    /relevance_score/,
  ],
]

/** In place of Claude Code, what it asks with the SDK of its maker, which reads the same variables. */
const CLAUDE = `claude() { node --input-type=module -e "
  import Anthropic from '@anthropic-ai/sdk'
  const client = new Anthropic()
  const messages = [{ role: 'user', content: '[answer well yes]' }]
  const answer = await client.messages.create({ model: process.env.ANTHROPIC_MODEL, max_tokens: 100, messages })
  console.log(answer.content[0].text)
"; }`

/** In place of Gemini CLI, what it asks by the variables that it reads. */
const GEMINI = `gemini() { curl -s "$GOOGLE_GEMINI_BASE_URL/v1beta/models/$2:generateContent" \\
  -H "x-goog-api-key: $GEMINI_API_KEY" -H 'Content-Type: application/json' \\
  -d '{"contents":[{"parts":[{"text":"[answer well yes]"}]}]}'; }`

/** What runs a sample in its language. */
const RUNNERS: Record<string, (code: string) => [command: string, args: string[]]> = {
  curl: (code) => ['sh', ['-c', code]],
  Python: (code) => ['python3', ['-c', code]],
  JavaScript: (code) => ['node', ['--input-type=module', '-e', code]],
  'Claude Code': (code) => ['sh', ['-c', `${CLAUDE}\n${code}`]],
  'Gemini CLI': (code) => ['sh', ['-c', `${GEMINI}\n${code}`]],
}

describe('the code that the console shows', () => {
  // Where its packages are found, and what it writes is in nobody's way.
  const folder = mkdtempSync(join(root, '.samples-'))
  after(() => rmSync(folder, { recursive: true }))
  const google = clientProgram('google-genai')
  const gateway = useGateway()
  const account = useOneAccount(gateway, 10_000)
  before(() => {
    if (google === null) return
    mkdirSync(join(folder, 'node_modules'))
    symlinkSync(join(google, '../../../..'), join(folder, 'node_modules/@google'))
  })

  /** What a sample prints. */
  async function printed({ language, code }: Pick<Sample, 'language' | 'code'>): Promise<string> {
    const [command, args] = RUNNERS[language]!(code)
    const { ANTHROPIC_API_KEY: _key, ...own } = process.env
    const env = { ...own, TOLLGATE_KEY: account.key }
    return (await run(command, args, { cwd: folder, env, timeout: 60_000 })).stdout
  }

  /** What samples in JavaScript print, each a module of one process: their packages take a second to load. */
  async function printedByModules(codes: readonly string[]): Promise<string[]> {
    codes.forEach((code, at) => writeFileSync(join(folder, `${at}.mjs`), code))
    const code = codes.map((_code, at) => `await import('./${at}.mjs'); console.log('next')`).join('\n')
    return (await printed({ language: 'JavaScript', code })).split('next\n')
  }

  /** Why Python cannot run a sample here; null where it can. */
  const noPython = async (packages: string): Promise<string | null> =>
    await run('python3', ['-c', `import ${packages}`]).then(
      () => null,
      (error: Error) => error.message,
    )

  for (const language of Object.keys(RUNNERS)) {
    it(`calls the gateway as it stands, in ${language}`, async function () {
      const asked = EXAMPLES.flatMap(([example, prints]) =>
        samplesOf(example, gateway.url)
          .filter((sample) => sample.language === language)
          // Google's SDK is where tests of clients have it, if it is installed.
          .filter(({ code }) => language !== 'JavaScript' || google !== null || !code.includes('@google/genai'))
          .map(({ code }) => ({ code, prints })),
      )
      expect(asked).not.to.deep.equal([])
      const missing = language === 'Python' ? await noPython('openai, anthropic, google.genai') : null
      if (missing !== null) {
        const parse = 'import ast, sys; ast.parse(sys.argv[1])'
        for (const { code } of asked) await run('python3', ['-c', parse, code])
        console.warn(`    parsed, but not run: ${missing.trim().split('\n').at(-1)}`)
        this.skip()
      }
      const together = language === 'JavaScript' ? await printedByModules(asked.map(({ code }) => code)) : []
      for (const [at, { code, prints }] of asked.entries())
        expect(together[at] ?? (await printed({ language, code })), code).to.match(prints)
    })
  }

  it('asks a chat in each dialect, and shows how a call of it can be made again', async () => {
    expect(new Set(samplesOf(CHAT, gateway.url).map(({ api }) => api)).size).to.equal(DIALECTS.length)
    const before = await gateway.db('calls').where({ account_id: account.id }).select<{ id: string }[]>('id')
    for (const dialect of DIALECTS) {
      const code = similarCurl({ model: 'sandbox-chat', modality: 'chat', dialect }, gateway.url)
      await printed({ language: 'curl', code })
    }
    const made = await gateway
      .db('calls')
      .where({ account_id: account.id, status: 'succeeded' })
      .whereNotIn(
        'id',
        before.map(({ id }) => id),
      )
      .orderBy('created_at')
      .select<{ dialect: string | null }[]>('dialect')
    expect(made.map(({ dialect }) => dialect ?? 'chat')).to.deep.equal([...DIALECTS])
  })
})
