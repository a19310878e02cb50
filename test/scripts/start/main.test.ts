import { expect } from 'chai'
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import type { Server } from 'node:http'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../../../scripts/folders.ts'
import { lives, markOf } from '../../../scripts/services/processes.ts'
import { get, post } from '../../../scripts/harness/http.ts'
import { seenWithin, until } from '../../../scripts/harness/until.ts'
import type { ProcessMark } from '../../../scripts/services/processes.ts'
import { readIfThere } from '../../../scripts/services/secrets.ts'
import { examples } from '../../../scripts/start/banner.ts'
import { enter, keepRunning, leave, runningIn } from '../../../scripts/start/data-folder.ts'
import { webPort } from '../../../scripts/start/settings.ts'
import { privateFolder } from '../../../scripts/harness/services.ts'

/** How long a start may take, in ms: the first one may compile. */
const UP_MS = 120_000

type Start = { child: ChildProcess; text: () => string; ended: Promise<number | null> }

/** Runs `npm start`'s script over its own data folder. */
function launch(folder: string, more: NodeJS.ProcessEnv = {}): Start {
  const env: NodeJS.ProcessEnv = { ...process.env, TOLLGATE_DATA: folder, ...more }
  for (const name of ['DATABASE_URL', 'REDIS_URL', 'PORT', 'MODELS_FILE']) delete env[name]
  const child = spawn(process.execPath, ['--import', 'tsx', 'scripts/start/main.ts'], {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      text += chunk.toString()
    })
  const ended = once(child, 'close').then(([code]) => code as number | null)
  return { child, text: () => text, ended }
}

/** Waits until a start is up or has ended. */
async function settled({ child, text }: Start): Promise<void> {
  await seenWithin(() => text().includes('Tollgate is up') || child.exitCode !== null, UP_MS, 50)
}

function line(text: string, name: string): string {
  return new RegExp(`^  ${name} +(.+)$`, 'm').exec(text)?.[1] ?? `no ${name} in:\n${text}`
}

/** The states of the keys of the pool, after six chats in one session; and how these were served. */
async function poolAfterChats(base: string, key: string, signIn: string) {
  const cache_control = { type: 'ephemeral' }
  const content = [{ type: 'text', text: 'a long text '.repeat(50), cache_control }]
  const chat = { model: 'sandbox-pool-chat', max_tokens: 50, messages: [{ role: 'user', content }] }
  const served: unknown[] = []
  for (let times = 0; times < 6; times += 1) {
    const session: Record<string, string> = times < 2 ? { 'X-Session-Id': 'mine' } : {}
    const { headers, json } = await post(`${base}/v1/messages`, key, chat, session)
    if (times < 2) served.push([headers.get('x-tollgate-session'), json.usage.cache_read_input_tokens > 0])
  }
  const [email, password] = signIn.split(/ +/)
  const { token } = (await post(`${base}/api/auth/login`, '', { email, password })).json
  const { data } = (await get(`${base}/api/operator/upstreams`, token)).json
  const { keys } = data.find(({ upstream }: { upstream: string }) => upstream === 'sandbox-pool')
  return { served, reasons: keys.map(({ name, reason }: { name: string; reason: string | null }) => [name, reason]) }
}

/** Buys the smallest pack by the console's API and by a click on the sandbox's page; answers the balance after it. */
async function buyCredits(base: string, signIn: string): Promise<number> {
  const [email, password] = signIn.split(/ +/)
  const { token } = (await post(`${base}/api/auth/login`, '', { email, password })).json
  const before = (await get(`${base}/api/account`, token)).json.credits
  const { url } = (await post(`${base}/api/billing/checkout`, token, { pack: 'small' })).json
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const paid = await fetch(url, { method: 'POST', headers: form, body: 'way=card', redirect: 'manual' })
  expect(paid.headers.get('location')).to.match(new RegExp(`^${base}/credits\\?payment=pay_`))
  // Nobody goes back to the page: the event has to come by itself.
  return await until('the credits', async () => {
    const { credits } = (await get(`${base}/api/account`, token)).json
    return credits > before && (credits as number)
  })
}

/**
 * Runs before a program at its first launch: reports the port that was found for it, and lets it continue once another
 * process has taken that port.
 */
const HELD_BACK = `
  import { existsSync, renameSync, writeFileSync } from 'node:fs'
  import { setTimeout as sleep } from 'node:timers/promises'
  const name = /dist.(?:src.)?(api|sandbox).main/.exec(process.argv[1] ?? '')?.[1]
  const file = process.env.HOLD_FOLDER + '/' + name
  if (name && !existsSync(file)) {
    const at = process.argv.indexOf('--port')
    writeFileSync(file + '.part', at > 0 ? process.argv[at + 1] : process.env.PORT)
    renameSync(file + '.part', file)
    while (!existsSync(file + '.taken')) await sleep(20)
  }`

type PortHolder = { port: number; server: Server }

/** Another process, which takes the port of such a program while it waits, and answers every request. */
async function takePort({ child, text }: Start, folder: string, name: string): Promise<PortHolder> {
  const file = join(folder, name)
  await seenWithin(() => existsSync(file) || child.exitCode !== null, UP_MS)
  const port = Number(readIfThere(file) ?? expect.fail(`${name} was not launched: ${text()}`))
  const server = createHttpServer((_request, response) => response.end('{}')).listen(port)
  await once(server, 'listening')
  writeFileSync(`${file}.taken`, '')
  return { port, server }
}

describe('npm start', function () {
  // It starts everything twice, and may compile first.
  this.timeout(3 * UP_MS)

  it('runs everything, stops everything, and finds its data again, though its ports are taken meanwhile', async () => {
    const folder = privateFolder()
    const first = launch(folder)
    await settled(first)
    const key = line(first.text(), 'API key')
    const base = line(first.text(), 'Console').replace(/\/$/, '')
    let processes: ProcessMark[] = []
    try {
      expect(key).to.match(/^tg_\w{40}$/)
      expect(line(first.text(), 'Balance')).to.equal('10000 credits')
      expect(line(first.text(), 'Sign in')).to.match(/^demo@tollgate\.local {3}\S{8,}$/)
      expect((await get(`${base}/v1/models`, key)).status).to.equal(200)
      const [email, password] = line(first.text(), 'Sign in').split(/ +/)
      const { user } = (await post(`${base}/api/auth/login`, '', { email, password })).json
      expect(user.emailVerified, 'it can invite').to.equal(true)
      expect(await buyCredits(base, line(first.text(), 'Sign in'))).to.equal(20_000)
      for (const secret of ['demo.json', 'app-secret', 'running.json', 'stripe-sandbox.json']) {
        expect(statSync(join(folder, secret)).mode & 0o777, secret).to.equal(0o600)
      }
      expect(readdirSync(join(folder, 'redis')), 'prompts rest on no disk').to.deep.equal([])
      const others = await fetch(base.replace('localhost', '127.0.0.2')).catch((error: Error) => error.cause)
      expect(others, 'it listens for this machine alone').to.include({ code: 'ECONNREFUSED' })
      processes = runningIn(folder)?.processes ?? []
      expect(processes.map(lives)).to.deep.equal([true, true, true, true, true])
      const second = launch(folder)
      expect(await second.ended).to.equal(1)
      expect(second.text()).to.include('is already running')
    } finally {
      first.child.kill('SIGTERM')
    }
    expect(await first.ended, first.text()).to.equal(0)
    expect(processes.filter(lives)).to.deep.equal([])
    await againWithTakenPorts(folder, key)
  })

  /** A start over the data of another one, while other processes take its ports between its check and its start. */
  async function againWithTakenPorts(folder: string, key: string): Promise<void> {
    const hold = mkdtempSync(join(tmpdir(), 'tollgate-ports-'))
    const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(HELD_BACK)}`
    const again = launch(folder, { HOLD_FOLDER: hold, NODE_OPTIONS })
    const holders: PortHolder[] = []
    try {
      for (const name of ['sandbox', 'api']) holders.push(await takePort(again, hold, name))
      const [sandbox, web] = holders as [PortHolder, PortHolder]
      await settled(again)
      const base = line(again.text(), 'Console').replace(/\/$/, '')
      expect(Number(new URL(base).port)).to.not.equal(web.port)
      expect(again.text()).to.match(/^web .* \(3000 is taken\)$/m)
      expect(again.text()).to.match(/^sandbox .* \(4010 is taken; /m)
      expect(again.text()).to.not.include(`127.0.0.1:${sandbox.port} `)
      expect(line(again.text(), 'API key')).to.equal(key)
      expect(line(again.text(), 'Balance')).to.equal('20000 credits')
      const chat = { model: 'sandbox-chat', messages: [{ role: 'user', content: 'Hello!' }] }
      const answer = await post(`${base}/v1/chat/completions`, key, chat)
      expect(answer.status, answer.text).to.equal(200)
      const left = await buyCredits(base, line(again.text(), 'Sign in'))
      expect(left, 'the customer is known again').to.equal(30_000 - (answer.json.usage.credits as number))
      const { served, reasons } = await poolAfterChats(base, key, line(again.text(), 'Sign in'))
      expect(served).to.deep.equal([
        ['new', false],
        ['hit', true],
      ])
      expect(reasons).to.deep.include.members([
        ['empty', 'no_credit'],
        ['dead', 'refused'],
      ])
      const [, , , , worker] = runningIn(folder)?.processes ?? []
      process.kill(worker!.pid, 'SIGKILL')
      expect(await again.ended).to.equal(1)
      expect(again.text()).to.match(/(web|worker) ended with SIGKILL/)
      expect(runningIn(folder)?.processes.filter(lives)).to.deep.equal([])
    } finally {
      again.child.kill('SIGKILL')
      for (const { server } of holders) server.close()
      rmSync(hold, { recursive: true })
    }
  }
})

describe('the data folder', () => {
  it('has one start at a time, which ends what a killed one left, but no process that reuses its pid', async () => {
    const folder = privateFolder()
    expect(await enter(folder)).to.equal(undefined)
    expect((await enter(folder))?.pid).to.equal(process.pid)
    const left = spawn('sleep', ['60'])
    const other = spawn('sleep', ['60'])
    try {
      keepRunning(folder, {
        processes: [markOf(left.pid!), { pid: other.pid!, startedAt: 'at another time' }],
        environment: {},
      })
      leave(folder)
      expect(await enter(folder)).to.equal(undefined)
      expect(lives(markOf(other.pid!))).to.equal(true)
      expect(left.signalCode ?? (await once(left, 'exit'))[1]).to.equal('SIGTERM')
    } finally {
      other.kill('SIGKILL')
      left.kill('SIGKILL')
      leave(folder)
    }
  })
})

describe('the port of npm start', () => {
  it('is exactly PORT, or an error when that is taken', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const refusal = await webPort(String(port)).catch((error: unknown) => error)
    server.close()
    await once(server, 'close')
    expect(refusal).to.be.an('error').with.property('message').that.includes(`PORT ${port} is taken`)
    expect(await webPort(String(port))).to.equal(port)
    expect(await webPort('0')).to.be.greaterThan(0)
    expect(await webPort('http').catch((error: unknown) => error)).to.be.an('error')
  })
})

describe('the command lines that npm start prints', () => {
  it('are for the models of the catalogue, and safe to paste', () => {
    const models = [{ id: "it's", modality: 'image', credits: 40 }]
    const lines = examples('http://localhost:1', 'tg_x', models)
    expect(lines.map(({ title }) => title)).to.have.length(4)
    expect(lines[1]?.line).to.include('"model":"it\'\\\'\'s"')
    expect(lines.at(-1)?.line).to.match(/^curl -s "http:\/\/localhost:1\/v1\/calls\/\$\(curl .* sed .*\)\?wait=60" -H/)
    expect(readFileSync(join(root, 'models.json'), 'utf8')).to.include('127.0.0.1:4010/')
  })
})
