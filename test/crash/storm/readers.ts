import { expect } from 'chai'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { CallId } from '../../../src/shared/platform/ids.ts'
import { publicId } from '../../../src/shared/platform/ids.ts'
import type { Sandbox } from '../../../sandbox/server.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import { get } from '../../../scripts/harness/http.ts'
import type { Installation } from '../../../scripts/harness/installation.ts'
import { PATIENCE_MS } from '../../../scripts/harness/until.ts'
import { untilEnded } from '../../support/crash.ts'
import type { CallRow } from '../../support/crash.ts'

/** How a stream is to end: cut by Tollgate, or abandoned by its client. */
type Ending = {
  name: string
  /** Chat completions where it is absent. */
  path?: 'messages'
  model: string
  words: string
  /** When the client disconnects; absent: not before the end. */
  leaves?: 'when sent' | 'when something came'
  /** How long its client pauses before the next stream, in ms; PAUSE_MS where it is absent. */
  pauseMs?: number
  /** The finish_reason, or the stop_reason, of the stored answer. */
  finish: 'length' | 'cancelled' | 'max_tokens'
}

/** Small enough for a stream of the sandbox to be cut there. */
export const MAX_ANSWER_BYTES = 50_000

const MAX_TOKENS = 1024

/** Our own count of an answer is at most twice its limit, in tokens of three bytes each. */
const MOST_COUNTED_BYTES = 2 * MAX_TOKENS * 3

const ENDINGS: readonly Ending[] = [
  {
    name: 'cut at its deadline',
    model: 'hasty-chat',
    words: '[tokens 60] [chunks 60 0] [hang-after 20]',
    finish: 'length',
  },
  { name: 'cut at its size', model: 'sandbox-chat', words: '[big 1]', finish: 'length' },
  {
    name: 'left before its first chunk',
    model: 'sandbox-chat',
    // It goes on for 10 s, in which a retry may join it.
    words: '[delay 15000]',
    pauseMs: 1000,
    leaves: 'when sent',
    finish: 'cancelled',
  },
  {
    name: 'left after its first chunk',
    model: 'sandbox-chat',
    words: '[tokens 200] [chunks 200 20]',
    leaves: 'when something came',
    finish: 'cancelled',
  },
  {
    name: 'of messages cut at their size',
    path: 'messages',
    model: 'sandbox-chat',
    words: '[big 1]',
    finish: 'max_tokens',
  },
  {
    name: 'of messages left after their first chunk',
    path: 'messages',
    model: 'sandbox-claude',
    words: '[tokens 200] [chunks 200 20]',
    leaves: 'when something came',
    finish: 'max_tokens',
  },
]

/** The cost of a call in credits, at the price of the sandbox's chats. */
const costOf = ({ input_tokens, output_tokens }: PaidRow): number =>
  Math.max(1, Math.ceil((Number(input_tokens) + Number(output_tokens) * 3) / 1000))

type PaidRow = CallRow & {
  id: CallId
  idempotency_key: string
  input_tokens: number | null
  output_tokens: number | null
  estimated_input_tokens: number
}

/** One stream as its client read it. */
type Read = { prompt: string; key: string; text: string }

/** What a client reads of either dialect. */
type Frame = { choices?: { delta?: { content?: string | null } }[]; delta?: { text?: string } }

/** The words that a client has read. */
const contentOf = ({ text }: Read): string =>
  [...text.matchAll(/^data: (\{.*\})\n/gm)]
    .map(([, line]) => JSON.parse(line!) as Frame)
    .map(({ choices, delta }) => choices?.[0]?.delta?.content ?? delta?.text ?? '')
    .join('')

/** How long a client waits before it asks another web process, and how long it reads at most, in ms. */
const PAUSE_MS = 50
const LONGEST_MS = 20_000

/** A client whose streams all end in one way. */
export class Reader {
  readonly ending: Ending
  private readonly town: Installation
  private readonly sandbox: Sandbox
  private readonly account: TestAccount
  private readonly url: () => string | undefined
  private readonly read: Read[] = []

  private constructor(
    town: Installation,
    sandbox: Sandbox,
    account: TestAccount,
    ending: Ending,
    url: () => string | undefined,
  ) {
    this.town = town
    this.sandbox = sandbox
    this.account = account
    this.ending = ending
    this.url = url
  }

  /** A reader for each way. @param url where a web process listens, if any does. */
  static async ofEach(town: Installation, sandbox: Sandbox, url: () => string | undefined): Promise<Reader[]> {
    return await Promise.all(
      ENDINGS.map(async (ending) => new Reader(town, sandbox, await anAccount(town.db, 100_000), ending, url)),
    )
  }

  /** Reads one stream after the other until it is stopped. */
  async run(goesOn: () => boolean): Promise<void> {
    while (goesOn()) {
      const url = this.url()
      if (url !== undefined) await this.readOne(url)
      await sleep(this.ending.pauseMs ?? PAUSE_MS)
    }
  }

  private async readOne(url: string): Promise<void> {
    const { model, words, leaves, path = 'chat/completions' } = this.ending
    const one: Read = { prompt: `reader ${randomUUID()} ${words}`, key: randomUUID(), text: '' }
    this.read.push(one)
    const client = new AbortController()
    const giveUp = setTimeout(() => client.abort(), LONGEST_MS)
    const watch = setInterval(() => {
      if (leaves === 'when sent' && this.sandbox.open(one.prompt).open > 0) client.abort()
    }, 10)
    try {
      const response = await fetch(`${url}/v1/${path}`, {
        method: 'POST',
        signal: client.signal,
        headers: {
          'content-type': 'application/json',
          authorization: `Bearer ${this.account.key}`,
          'idempotency-key': one.key,
        },
        body: JSON.stringify({
          model,
          stream: true,
          max_tokens: MAX_TOKENS,
          messages: [{ role: 'user', content: one.prompt }],
        }),
      })
      const decoder = new TextDecoder()
      for await (const piece of response.body!) {
        one.text += decoder.decode(piece as Uint8Array, { stream: true })
        if (leaves === 'when something came' && contentOf(one) !== '') client.abort()
      }
    } catch {
      // It has disconnected, or its web process was killed.
    } finally {
      clearTimeout(giveUp)
      clearInterval(watch)
    }
  }

  /**
   * Waits until its calls have ended, and checks each against docs/money.md. Reads more if none has ended in this way
   * yet.
   * @param interrupted the calls that a worker held when it was killed: only these may be refunded although something
   * was delivered.
   * @returns how many have ended in this way.
   */
  async checkOutcome(interrupted: ReadonlySet<string>): Promise<number> {
    let cut = await this.judgeAll(interrupted)
    for (const giveUpAt = performance.now() + PATIENCE_MS; cut === 0 && performance.now() < giveUpAt;) {
      await this.readOne(this.url()!)
      cut = await this.judgeAll(interrupted)
    }
    expect(cut, `streams ${this.ending.name}`).to.be.at.least(1)
    return cut
  }

  private async judgeAll(interrupted: ReadonlySet<string>): Promise<number> {
    const rows = (await untilEnded(this.town.db, this.account.id)) as PaidRow[]
    const byKey = new Map(rows.map((row) => [row.idempotency_key, row]))
    expect(byKey.size, 'one request is one call').to.equal(rows.length)
    let cut = 0
    for (const one of this.read) {
      const billed = this.sandbox.billed(one.prompt).total
      expect(billed, `${one.prompt}: billed by the upstream`).to.be.at.most(1)
      const row = byKey.get(one.key)
      const about = `${this.ending.name}: ${row?.id}`
      if (!row) expect(billed, `${one.prompt}: never opened`).to.equal(0)
      else if (row.status === 'failed') this.expectNothingDelivered(row, one, billed, interrupted)
      else {
        expect(row.credits, `${about}: credits`).to.equal(costOf(row))
        expect(row.input_tokens, `${about}: input`).to.be.at.least(1)
        if (await this.hasEndedItsWay(row, one)) cut++
      }
    }
    return cut
  }

  /** Unless its worker was killed, nothing of a refunded stream was delivered, nor sent if its client left. */
  private expectNothingDelivered(row: PaidRow, one: Read, billed: number, interrupted: ReadonlySet<string>): void {
    expect(row.credits, `${row.id}: credits`).to.equal(0)
    if (interrupted.has(row.id)) return
    expect(contentOf(one), `${this.ending.name}: ${row.id}: delivered, and refunded`).to.equal('')
    // At its deadline, it may have been sent without an answer.
    if (this.ending.model !== 'hasty-chat')
      expect(billed, `${this.ending.name}: ${row.id}: sent, and refunded`).to.equal(0)
  }

  /** Whether it was cut or abandoned, and not read to the end because its web process was killed. */
  private async hasEndedItsWay(row: PaidRow, one: Read): Promise<boolean> {
    const { json } = await get(`${this.url()!}/v1/calls/${publicId('call', row.id)}`, this.account.key)
    const finish = this.ending.path === 'messages' ? json.stop_reason : json.choices[0].finish_reason
    if (finish !== this.ending.finish) return false
    // Only the Messages API reports the input of a stream at its beginning.
    if (this.ending.model === 'sandbox-claude')
      expect(row.input_tokens, `${row.id}: input`).to.be.at.most(row.estimated_input_tokens)
    else expect(row.input_tokens, `${row.id}: input`).to.equal(row.estimated_input_tokens)
    const delivered = Buffer.byteLength(contentOf(one))
    expect(row.output_tokens! * 3, `${row.id}: output`).to.be.at.least(Math.min(delivered, MOST_COUNTED_BYTES))
    return true
  }
}
