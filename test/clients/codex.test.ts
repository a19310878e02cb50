import { expect } from 'chai'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../scripts/folders.ts'
import { prompted } from '../../scripts/harness/calling.ts'
import { addDialects } from '../api/v1/support/responses.ts'
import { programOf, turnOf } from '../support/clients.ts'
import { useGateway, useOneAccount } from '../support/gateway.ts'

/** The configurations of docs/agents.md: a provider of its own, and the built-in one under another address. */
const [PROVIDER, ADDRESS] = Array.from(
  readFileSync(join(root, 'docs/agents.md'), 'utf8').matchAll(/^```toml\n(.*?)^```$/gms),
  ([, lines]) => lines!,
) as [string, string]

/** Ids that Codex knows behind their prefix, and gives its own tools. */
const MODELS = ['native/gpt-5.5', 'gpt/gpt-5.5', 'claude/gpt-5.5']

describe('the Codex command line', () => {
  const gateway = useGateway({}, (catalogue) => {
    addDialects(catalogue)
    const { models } = catalogue
    for (const id of MODELS) models.push({ ...models.find((one) => id === `${one['id'] as string}/gpt-5.5`), id })
  })
  const account = useOneAccount(gateway, 100_000_000)
  let codex: string
  before(function () {
    codex = programOf(this, 'codex')
  })

  function turn(model: string, prompt: string, key = account.key, configuration = PROVIDER) {
    const lines = configuration.replace('sandbox-chat', model).replace('http://localhost:3000', gateway.url)
    const quiet = 'check_for_update_on_startup = false\nanalytics.enabled = false\n'
    return turnOf([codex, 'exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', prompt], {
      env: { KEY: key, CODEX_API_KEY: key },
      home: { '.codex/config.toml': quiet + lines },
    })
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

    it(`applies a patch through ${model}`, async () => {
      const patch = '*** Begin Patch\n*** Add File: by-patch\n+patched\n*** End Patch'
      const { stderr, work } = await turn(model, prompted(`[call apply_patch ${patch}]`))
      expect(readFileSync(join(work, 'by-patch'), 'utf8'), stderr).to.equal('patched\n')
    })
  }

  it('runs a command by openai_base_url, and asks for one WebSocket alone', async () => {
    const prompt = prompted(`[call exec_command ${JSON.stringify({ cmd: 'echo made > by-command' })}]`)
    const { stderr, work } = await turn(MODELS[0]!, prompt, account.key, ADDRESS)
    expect(existsSync(join(work, 'by-command')), stderr).to.equal(true)
    // After any other answer than 426 it tries again for seconds.
    expect(stderr.match(/failed to connect to Responses WebSocket/g)).to.have.length(1)
  })

  it('sends one request with an empty balance', async () => {
    const broke = await gateway.account(1)
    const { stdout, stderr } = await turn(MODELS[0]!, 'hello', broke.key)
    expect(stdout + stderr).to.match(/quota/i)
    expect(await gateway.db('calls').where({ account_id: broke.id })).to.have.length(1)
  })
})
