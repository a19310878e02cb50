import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { afterFile } from '../../scripts/harness/after-file.ts'
import { countsOf, prompted } from '../../scripts/harness/calling.ts'
import { balanceOf } from '../../scripts/harness/factories.ts'
import { root } from '../../scripts/folders.ts'
import { programOf, turnOf } from '../support/clients.ts'
import { useGateway, useScripted } from '../support/gateway.ts'
import { streamOf } from '../upstreams/recorded/answers.ts'
import type { Script } from '../upstreams/support/scripted.ts'
import { streaming } from '../upstreams/support/scripted.ts'

type Fields = Record<string, unknown>

const USED = { input_tokens: 10, output_tokens: 5 }
const CHUNKS = 'usage {"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}'

/** A streamed message of one block. */
const messageOf = (content_block: Fields, delta: Fields, reason: string): string =>
  streamOf(
    `start ${JSON.stringify(USED)}`,
    `event ${JSON.stringify({ type: 'content_block_start', index: 0, content_block })}`,
    `event ${JSON.stringify({ type: 'content_block_delta', index: 0, delta })}`,
    'event {"type":"content_block_stop","index":0}',
    `stop "${reason}" {"output_tokens":5}`,
  )

const chunksOf = (choice: Fields, reason: string): string =>
  streamOf(`delta ${JSON.stringify({ role: 'assistant', ...choice })}`, `delta {} finish "${reason}"`, CHUNKS, '[DONE]')

/** A call of a tool and a text, as each protocol streams them. */
const STREAMS = {
  anthropic: {
    call: (name: string, partial_json: string) =>
      messageOf(
        { type: 'tool_use', id: 'toolu_1', name, input: {} },
        { type: 'input_json_delta', partial_json },
        'tool_use',
      ),
    text: (text: string) => messageOf({ type: 'text', text: '' }, { type: 'text_delta', text }, 'end_turn'),
  },
  openai: {
    call: (name: string, args: string) => {
      const called = { index: 0, id: 'call_1', type: 'function', function: { name, arguments: args } }
      return chunksOf({ tool_calls: [called] }, 'tool_calls')
    },
    text: (content: string) => chunksOf({ content }, 'stop'),
  },
}

type Protocol = keyof typeof STREAMS

/** Answers every request with this text. */
const saying = (protocol: Protocol, text: string): Script => streaming(STREAMS[protocol].text(text))

/** Reads a file with the tool `Read`, and says what it has found there once its text has come back. */
function reading(protocol: Protocol, path: string, word: string): Script {
  const { call, text } = STREAMS[protocol]
  return (request, response, body) => {
    const answer = body.includes(word) ? text(`It says ${word}.`) : call('Read', JSON.stringify({ file_path: path }))
    streaming(answer)(request, response, body)
  }
}

describe('Claude Code', () => {
  const scripted = useScripted()
  const gateway = useGateway({}, ({ upstreams, models }) => {
    const { sandbox } = upstreams
    Object.assign(upstreams, {
      anthropic: { ...sandbox, protocol: 'anthropic', baseUrl: scripted.origin },
      openai: { ...sandbox, protocol: 'openai', baseUrl: `${scripted.origin}/v1` },
    })
    const pricing = { input: 1, output: 3, perTokens: 1000, minimum: 1 }
    for (const upstream of ['anthropic', 'openai'])
      models.push({
        id: `claude-${upstream}`,
        modality: 'chat',
        pricing,
        upstreams: [{ upstream, model: 'some-model' }],
      })
  })
  let cli: string
  before(function () {
    cli = programOf(this, 'claude-code')
  })

  /** Runs `claude -p` to its end. `result` is what it tells its user. */
  async function runClaude(key: string, model: string, prompt: string, { tools = [] as string[], work = '' } = {}) {
    const args = ['-p', prompt, '--model', model, '--output-format', 'json']
    if (tools.length > 0) args.push('--allowedTools', ...tools)
    const settings = { ANTHROPIC_AUTH_TOKEN: key, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' }
    const { stdout, stderr, exitCode } = await turnOf([process.execPath, cli, ...args], {
      env: { ANTHROPIC_BASE_URL: gateway.url, ...settings },
      ...(work !== '' && { work }),
    })
    if (typeof exitCode !== 'number' || stdout === '') throw new Error(`claude: ${String(exitCode)} ${stdout}${stderr}`)
    const told = JSON.parse(stdout) as { is_error: boolean; result: string; num_turns: number }
    return { isError: told.is_error, result: told.result, turns: told.num_turns, exitCode }
  }

  for (const protocol of ['anthropic', 'openai'] as const) {
    const model = `claude-${protocol}`

    it(`reads a file by its tool over an upstream of ${protocol}, and says what is in it`, async () => {
      const account = await gateway.account(10_000)
      const folder = mkdtempSync(join(tmpdir(), 'tollgate-claude-'))
      afterFile(() => rmSync(folder, { recursive: true }))
      const [path, word] = [join(folder, 'note.txt'), randomUUID()]
      writeFileSync(path, `The word is ${word}.\n`)
      const prompt = scripted.prompt(reading(protocol, path, word))
      const told = await runClaude(account.key, model, prompt, { tools: ['Read'], work: folder })
      expect(told).to.deep.equal({ isError: false, result: `It says ${word}.`, turns: 2, exitCode: 0 })
      expect(await countsOf(gateway.db, account)).to.include({ calls: 2, charged: 2 })
      expect(await balanceOf(gateway.db, account.id)).to.be.below(10_000)
    })
  }

  it('is set up by the lines of docs/agents.md', async () => {
    const page = readFileSync(join(root, 'docs/agents.md'), 'utf8')
    const [, lines] = /^```sh\n(.*?)^```$/ms.exec(page)!
    expect(lines).to.include('http://localhost:3000')
    const account = await gateway.account(10_000)
    const claude = `#!/bin/sh\nexec "${process.execPath}" "${cli}" "$@"\n`
    const asked = lines!.replace('http://localhost:3000', gateway.url)
    const { stdout } = await turnOf(['sh', '-ec', asked], { env: { KEY: account.key }, home: { claude } })
    expect(stdout).to.equal('Good morning\n')
    expect(await countsOf(gateway.db, account)).to.include({ calls: 1, charged: 1 })
  })

  it('mends its request by the words of an upstream that refuses it', async () => {
    const account = await gateway.account(10_000)
    const betas: string[] = []
    const prompt = scripted.prompt((request, response, body) => {
      betas.push(String(request.headers['anthropic-beta'] ?? ''))
      if (!('context_management' in JSON.parse(body)))
        return saying('anthropic', 'Good morning')(request, response, body)
      const message = 'context_management: Extra inputs are not permitted'
      const error = { type: 'error', error: { type: 'invalid_request_error', message } }
      response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify(error))
    })
    const told = await runClaude(account.key, 'claude-anthropic', prompt)
    expect(told).to.include({ isError: false, result: 'Good morning' })
    expect(betas).to.have.lengthOf(2)
    expect(betas[0]).to.include('context-management')
    expect(betas[1]).to.not.include('context-management')
  })

  it('is told of an empty balance at its first request, and sends no second one', async () => {
    const account = await gateway.account()
    const told = await runClaude(account.key, 'claude-anthropic', prompted())
    expect([told.isError, told.exitCode]).to.deep.equal([true, 1])
    expect(told.result).to.match(/402 This call reserves \d+ credits/)
    expect(await countsOf(gateway.db, account)).to.include({ calls: 1, charged: 0 })
  })

  it('works on a balance that pays for less than the limit that it asks for', async () => {
    const account = await gateway.account(100)
    const limits: unknown[] = []
    const prompt = scripted.prompt((request, response, body) => {
      limits.push((JSON.parse(body) as Fields).max_tokens)
      saying('anthropic', 'Good morning')(request, response, body)
    })
    const told = await runClaude(account.key, 'claude-anthropic', prompt)
    expect(told).to.include({ isError: false, result: 'Good morning' })
    expect(limits).to.have.lengthOf(1)
    expect(limits[0]).to.be.within(4096, 31_999)
  })
})
