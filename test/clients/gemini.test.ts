import { expect } from 'chai'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../scripts/folders.ts'
import { prompted } from '../../scripts/harness/calling.ts'
import { MODELS, addDialects } from '../api/v1/support/responses.ts'
import { programOf, turnOf } from '../support/clients.ts'
import { useGateway, useOneAccount } from '../support/gateway.ts'

type Answer = {
  text?: string
  functionCalls?: { id: string; name: string }[]
  usageMetadata?: { totalTokenCount: number }
}

/** What is used of Google's SDK, which is no package of this one. */
type Client = {
  chats: {
    create: (of: object) => {
      sendMessage: (of: object) => Promise<Answer>
      sendMessageStream: (of: object) => Promise<AsyncIterable<Answer>>
    }
  }
  models: {
    countTokens: (of: object) => Promise<{ totalTokens: number }>
    list: () => Promise<AsyncIterable<{ name: string }>>
    embedContent: (of: object) => Promise<{ embeddings: { values: number[] }[] }>
    generateContent: (of: object) => Promise<Answer>
  }
}

describe("Google's clients", () => {
  const gateway = useGateway({}, addDialects)
  const account = useOneAccount(gateway, 100_000_000)

  describe('Gemini CLI', () => {
    let cli: string
    before(function () {
      cli = programOf(this, 'gemini-cli')
    })

    function turn(model: string, prompt: string, key = account.key) {
      const settings = {
        security: { auth: { selectedType: 'gemini-api-key' } },
        privacy: { usageStatisticsEnabled: false },
      }
      const how = ['--model', model, '--approval-mode', 'yolo', '--skip-trust', '--prompt', prompt]
      return turnOf([process.execPath, cli, ...how], {
        env: { GEMINI_API_KEY: key, GOOGLE_GEMINI_BASE_URL: gateway.url },
        home: { '.gemini/settings.json': JSON.stringify(settings) },
      })
    }

    it('is set up by the lines of docs/agents.md', async () => {
      const page = readFileSync(join(root, 'docs/agents.md'), 'utf8')
      const [, lines] = /^## Gemini CLI\n\n```sh\n(.*?)^```$/ms.exec(page)!
      const [prompt] = lines!.match(/'.*'/)!
      expect(lines).to.include('export GOOGLE_GEMINI_BASE_URL=').and.to.include('export GEMINI_API_KEY=')
      const { stdout, stderr } = await turn('sandbox-chat', prompt)
      expect(stdout, stderr).to.contain('Good morning')
    })

    // Tools through each protocol are those of the SDK, below.
    it('runs a tool', async () => {
      const call = `[call write_file ${JSON.stringify({ file_path: 'by-tool', content: 'made' })}]`
      const { stdout, stderr, work } = await turn('claude', prompted(call))
      expect(existsSync(join(work, 'by-tool')), stdout + stderr).to.equal(true)
    })

    it('sends one request with an empty balance', async () => {
      const broke = await gateway.account(1)
      const { stdout, stderr } = await turn('gpt', 'hello', broke.key)
      expect(stdout + stderr).to.match(/This call reserves \d+ credits/)
      expect(await gateway.db('calls').where({ account_id: broke.id })).to.have.length(1)
    })
  })

  describe('@google/genai', () => {
    let client: Client
    before(async function () {
      const { GoogleGenAI } = (await import(programOf(this, 'google-genai'))) as {
        GoogleGenAI: new (of: object) => Client
      }
      client = new GoogleGenAI({ apiKey: account.key, httpOptions: { baseUrl: gateway.url } })
    })

    for (const model of MODELS) {
      it(`chats, whole and streamed, and sends answers back as they came, through ${model}`, async () => {
        const chat = client.chats.create({ model, config: { systemInstruction: 'Be brief.' } })
        expect((await chat.sendMessage({ message: prompted('[answer one]') })).text).to.equal('one')
        let text = ''
        let tokens = 0
        for await (const chunk of await chat.sendMessageStream({
          message: prompted('[answer two three] [usage 3 4]'),
        })) {
          text += chunk.text ?? ''
          tokens += chunk.usageMetadata?.totalTokenCount ?? 0
        }
        expect([text, tokens]).to.deep.equal(['two three', 7])
        expect((await chat.sendMessage({ message: prompted('[answer four]') })).text).to.equal('four')
      })

      it(`runs a function over three turns through ${model}`, async () => {
        const look = { name: 'look', parametersJsonSchema: { type: 'object', properties: { at: { type: 'string' } } } }
        const chat = client.chats.create({ model, config: { tools: [{ functionDeclarations: [look] }] } })
        let answer = await chat.sendMessage({ message: prompted('[call look {"at":"Rome"}]') })
        for (const next of ['[call look {"at":"Oslo"}]', '[answer done]']) {
          const [called] = answer.functionCalls!
          const functionResponse = { id: called!.id, name: called!.name, response: { output: 'sunny' } }
          answer = await chat.sendMessage({ message: [{ functionResponse }, { text: prompted(next) }] })
        }
        expect(answer.text).to.equal('done')
      })
    }

    it('counts, lists and embeds, and reads what is refused', async () => {
      expect((await client.models.countTokens({ model: 'gpt', contents: 'hello' })).totalTokens).to.be.above(1)
      const names: string[] = []
      for await (const { name } of await client.models.list()) names.push(name)
      expect(names).to.include.members(['models/gpt', 'models/sandbox-embedding'])
      const { embeddings } = await client.models.embedContent({ model: 'sandbox-embedding', contents: ['a', 'b'] })
      expect(embeddings.map(({ values }) => typeof values[0])).to.deep.equal(['number', 'number'])
      const refused = await client.models
        .generateContent({ model: 'none', contents: 'hello' })
        .catch((one: unknown) => one)
      expect(refused).to.include({ status: 404 })
    })
  })
})
