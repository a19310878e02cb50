import { expect } from 'chai'
import { Webhook as Verifier } from 'standardwebhooks'
import { anAccount } from '../../scripts/harness/factories.ts'
import type { TestAccount } from '../../scripts/harness/factories.ts'
import type { Installation } from '../../scripts/harness/installation.ts'
import { until } from '../../scripts/harness/until.ts'
import type { Db } from '../../src/shared/platform/postgres/db.ts'
import type { WebhookId } from '../../src/shared/platform/ids.ts'
import { parseId, publicId } from '../../src/shared/platform/ids.ts'
import { createSecretBox } from '../../src/shared/webhooks/secrets.ts'
import { changeWebhook, createWebhook, showCallbackSecret } from '../../src/shared/webhooks/webhooks.ts'
import type { Receiver } from '../support/webhooks.ts'
import { startReceiver } from '../support/webhooks.ts'
import { inSoak } from './scale.ts'

/**
 * How late an event is answered at its first try, in ms: in the soak later than a receiver has time for. Only every
 * eighth request: in the slow lane a webhook is tried once in a round, so that each costs all of that time.
 */
const LATE_MS = inSoak ? 16_000 : 1000
const LATE_EVERY = 8

/** How a receiver treats what it is sent. `hanging` and `redirecting` never take anything. */
export type Manner = 'good' | 'flaky' | 'late' | 'gone' | 'hanging' | 'redirecting'

/** An account, its webhook, where its events go, and where its calls want theirs. */
export type Told = {
  manner: Manner
  account: TestAccount
  webhookId: WebhookId
  secret: string
  callbackSecret: string
  receiver: Receiver
  callbacks: Receiver
}

/** Every manner once, and where redirects lead. `revive` lets the receiver that is gone take events. */
export type Audience = { all: Told[]; trap: Receiver; revive: () => Promise<void>; stop: () => Promise<void> }

/** Opens accounts that are told of their calls by receivers of every manner. */
export async function openAudience({ db, config }: Installation): Promise<Audience> {
  const box = createSecretBox(config)
  let isGone = true
  const trap = await startReceiver()
  const answers: Record<Manner, Parameters<typeof startReceiver>[0]> = {
    good: (response) => response.writeHead(204).end(),
    flaky: (response, _nth, tries) => response.writeHead(tries === 1 ? 503 : 204).end(),
    late: (response, nth, tries) => {
      const isLate = tries === 1 && nth % LATE_EVERY === 1
      setTimeout(() => response.writeHead(204).end(), isLate ? LATE_MS : 0).unref()
    },
    gone: (response) => response.writeHead(isGone ? 410 : 204).end(),
    hanging: () => {},
    redirecting: (response) => response.writeHead(307, { location: trap.url }).end(),
  }
  const open = async (manner: Manner): Promise<Told> => {
    const [receiver, callbacks] = [await startReceiver(answers[manner]), await startReceiver()]
    const account = await anAccount(db, 100_000)
    const fields = { url: receiver.url, types: ['call.succeeded', 'call.failed'] }
    const { webhook, secret } = await createWebhook(db, box, account.id, fields)
    const callbackSecret = (await showCallbackSecret(db, box, account.id))!
    return { manner, account, webhookId: parseId('webhook', webhook.id)!, secret, callbackSecret, receiver, callbacks }
  }
  const all: Told[] = []
  for (const manner of Object.keys(answers) as Manner[]) all.push(await open(manner))
  return {
    all,
    trap,
    revive: async () => {
      const gone = all.find(({ manner }) => manner === 'gone')!
      await until('a 410 has disabled its webhook', async () => {
        await hurry(db)
        return await db('webhooks').where({ id: gone.webhookId }).whereNotNull('disabled_at').first('id')
      })
      isGone = false
      await changeWebhook(db, gone.account.id, gone.webhookId, { disabled: false })
    },
    stop: async () => {
      for (const one of [trap, ...all.flatMap(({ receiver, callbacks }) => [receiver, callbacks])]) await one.stop()
    },
  }
}

const takes = ({ manner }: Told): boolean => manner !== 'hanging' && manner !== 'redirecting'

/** A delivery, as its row says. `url`: where a call wanted it. */
type Row = { webhook_id: WebhookId; event_id: string; body: string; url: string | null; status: string; tries: number }

const rowsOf = ({ db }: Installation, { account }: Told): Promise<Row[]> =>
  db('webhook_deliveries')
    .join('webhooks', 'webhooks.id', 'webhook_id')
    .where({ account_id: account.id })
    .select<Row[]>('webhook_id', 'event_id', 'body', 'webhook_deliveries.url', 'status', 'tries')

/** Makes due in a second what waits for its next try, or for the end of the claim of a process that was killed. */
const hurry = (db: Db): Promise<number> =>
  db('webhook_deliveries')
    .whereIn('status', ['queued', 'sending'])
    .whereRaw("next_try_at > now() + interval '2 seconds'")
    .update({ next_try_at: db.raw("now() + interval '1 second'") })

/** How long the deliveries of a storm may take on a busy machine, in ms. */
const STORM_MS = 150_000

/** Waits until all that can be delivered is. */
export async function untilDelivered(town: Installation, { all }: Audience): Promise<void> {
  const open = all.filter(takes)
  await until(
    'every event is delivered',
    async () => {
      await hurry(town.db)
      const rows = (await Promise.all(open.map((told) => rowsOf(town, told)))).flat()
      return rows.every(({ status }) => status === 'delivered')
    },
    STORM_MS,
  )
}

/**
 * Holds what the receivers of an account have got against its calls.
 * @returns how many events, and in how many tries
 */
export async function checkAccount(
  town: Installation,
  told: Told,
  callbacks: ReadonlySet<string>,
): Promise<{ events: number; tries: number }> {
  const calls = await town
    .db('calls')
    .where({ account_id: told.account.id })
    .whereIn('status', ['succeeded', 'failed'])
    .pluck<string[]>('id')
  const rows = await rowsOf(town, told)
  const idsOf = (some: Row[]): string[] => some.map(({ body }) => JSON.parse(body).data.call as string).toSorted()
  const ended = calls.map((id) => publicId('call', id as never)).toSorted()
  const own = idsOf(rows.filter(({ url }) => url === null))
  // While its webhook was disabled, nothing was written for it.
  if (told.manner === 'gone') expect(ended, 'calls that were told of').to.include.members(own)
  else expect(own, `${told.manner}: an event for each call`).to.deep.equal(ended)
  const wanted = ended.filter((id) => callbacks.has(id))
  expect(idsOf(rows.filter(({ url }) => url !== null)), `${told.manner}: callbacks`).to.deep.equal(wanted)
  expectSame(rows, told)
  return { events: rows.length, tries: told.receiver.received.length + told.callbacks.received.length }
}

/** Each event came with the bytes and the id of its row in every try, signed; and each that is delivered has come. */
function expectSame(rows: readonly Row[], { manner, receiver, callbacks, secret, callbackSecret }: Told): void {
  for (const [got, its, own] of [
    [receiver.received, secret, rows.filter(({ url }) => url === null)],
    [callbacks.received, callbackSecret, rows.filter(({ url }) => url !== null)],
  ] as const) {
    const byId = new Map(own.map((row) => [publicId('event', row.event_id as never) as string, row]))
    for (const { body, headers } of got) {
      const row = byId.get(String(headers['webhook-id']))
      expect(row?.body, `${manner}: the bytes of ${String(headers['webhook-id'])}`).to.equal(body)
      // A verifier refuses what is older than five minutes, as the beginning of a long storm is.
      const sentAt = new Date(Number(headers['webhook-timestamp']) * 1000)
      const signature = new Verifier(its).sign(String(headers['webhook-id']), sentAt, body)
      expect(headers['webhook-signature'], `${manner}: signature`).to.equal(signature)
    }
    const came = new Set(got.map(({ headers }) => headers['webhook-id']))
    for (const [id, { status }] of byId) {
      if (status === 'delivered') expect(came.has(id), `${manner}: ${id} has come`).to.equal(true)
      else expect(status, `${manner}: what is not taken`).to.be.oneOf(['queued', 'sending', 'failed'])
    }
  }
}
