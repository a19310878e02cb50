import { expect } from 'chai'
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { root } from '../../scripts/folders.ts'
import { prompted } from '../../scripts/harness/calling.ts'
import { anAccount } from '../../scripts/harness/factories.ts'
import type { TestAccount } from '../../scripts/harness/factories.ts'
import type { Gateway } from '../../scripts/harness/harness.ts'
import { startGateway } from '../../scripts/harness/harness.ts'
import { expectBooksToBalance } from '../support/books.ts'
import { programOf } from '../support/clients.ts'

/** The configurations of docs/agents.md: a provider of its own, and the built-in one under another address. */
const [PROVIDER, ADDRESS] = Array.from(
  readFileSync(join(root, 'docs/agents.md'), 'utf8').matchAll(/^```toml\n(.*?)^```$/gms),
  ([, lines]) => lines!,
) as [string, string]

/** How long a turn of the client may take, in ms. */
const TURN_MS = 50_000

const run = promisify(execFile)

/** Ids that Codex knows behind their prefix, and gives its own tools. */
const MODELS = ['native/gpt-5.5', 'chat/gpt-5.5', 'claude/gpt-5.5']

describe('the Codex command line', () => {
  let gateway: Gateway
  let account: TestAccount
  let folder: string
  let codex: string
  before(async function () {
    codex = programOf(this, 'codex')
    folder = await mkdtemp(join(tmpdir(), 'codex-'))
    gateway = await startGateway({}, ({ upstreams, models }) => {
      const { baseUrl, ...sandbox } = upstreams.sandbox as { baseUrl: string }
      Object.assign(upstreams, {
        claude: { ...sandbox, protocol: 'anthropic', baseUrl: baseUrl.replace('/v1', '/anthropic') },
        native: { ...sandbox, protocol: 'responses', baseUrl },
      })
      const pricing = { input: 1, output: 3, perTokens: 1000, minimum: 1 }
      for (const id of MODELS) {
        const [name] = id.split('/')
        const upstream = name === 'chat' ? 'sandbox' : name
        models.push({ id, modality: 'chat', pricing, upstreams: [{ upstream, model: `sandbox/${name}` }] })
      }
    })
    account = await anAccount(gateway.db, 1_000_000)
  })
  afterEach(() => expectBooksToBalance(gateway.db))
  after(async () => {
    await (gateway as Gateway | undefined)?.stop()
    if (folder) await rm(folder, { recursive: true, force: true })
  })

  /** A turn in a folder of its own, with nothing of this machine's but the command itself. */
  async function turn(model: string, prompt: string, key = account.key, configuration = PROVIDER) {
    const work = await mkdtemp(join(folder, 'work-'))
    const home = join(work, '.home')
    await mkdir(home)
    const lines = configuration.replace('sandbox-chat', model).replace('http://localhost:3000', gateway.url)
    const quiet = 'check_for_update_on_startup = false\nanalytics.enabled = false\n'
    await writeFile(join(home, 'config.toml'), quiet + lines)
    const args = ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', prompt]
    // Nothing but the gateway can be reached.
    const alone = { HTTPS_PROXY: 'http://127.0.0.1:9', NO_PROXY: '127.0.0.1' }
    const env = {
      PATH: process.env.PATH,
      HOME: home,
      CODEX_HOME: home,
      KEY: key,
      CODEX_API_KEY: key,
      ...alone,
    }
    const client = run(codex, args, { cwd: work, env, timeout: TURN_MS })
    client.child.stdin?.end()
    const { stdout, stderr } = await client.catch((error: unknown) => error as { stdout: string; stderr: string })
    return { stdout, stderr, work }
  }

  it('answers', async () => {
    const { stdout, stderr } = await turn(MODELS[0]!, prompted('[answer Good morning from the gateway]'))
    expect(stdout, stderr).to.contain('Good morning from the gateway')
  })

  for (const model of MODELS) {
    it(`runs a command through ${model}`, async () => {
      const command = JSON.stringify({ cmd: 'echo made > by-command' })
      const { stderr, work } = await turn(model, prompted(`[call exec_command ${command}]`))
      expect(existsSync(join(work, 'by-command')), stderr).to.equal(true)
    })

    it(`runs a command by openai_base_url through ${model}, and asks for one WebSocket alone`, async () => {
      const prompt = prompted(`[call exec_command ${JSON.stringify({ cmd: 'echo made > by-command' })}]`)
      const { stderr, work } = await turn(model, prompt, account.key, ADDRESS)
      expect(existsSync(join(work, 'by-command')), stderr).to.equal(true)
      // After any other answer than 426 it tries again for seconds.
      expect(stderr.match(/failed to connect to Responses WebSocket/g)).to.have.length(1)
    })

    it(`applies a patch through ${model}`, async () => {
      const patch = '*** Begin Patch\n*** Add File: by-patch\n+patched\n*** End Patch'
      const { stderr, work } = await turn(model, prompted(`[call apply_patch ${patch}]`))
      expect(await readFile(join(work, 'by-patch'), 'utf8'), stderr).to.equal('patched\n')
    })
  }

  it('sends one request with an empty balance', async () => {
    const broke = await anAccount(gateway.db, 1)
    const { stdout, stderr } = await turn(MODELS[0]!, 'hello', broke.key)
    expect(stdout + stderr).to.match(/quota/i)
    expect(await gateway.db('calls').where({ account_id: broke.id })).to.have.length(1)
  })
})
