/** webhook add · list · enable · rotate · test · deliveries · redeliver · remove: the operators' own webhooks */
import { readWebhookConfig } from '../../shared/platform/config/config.ts'
import { ApiError } from '../../shared/platform/errors.ts'
import { publicId } from '../../shared/platform/ids.ts'
import type { Db } from '../../shared/platform/postgres/db.ts'
import {
  addOperatorsWebhook,
  removeOperatorsWebhook,
  rotateOperatorsWebhook,
  switchOperatorsWebhook,
} from '../../shared/operators/webhooks.ts'
import { receiverProblem } from '../../shared/webhooks/addresses.ts'
import type { ShownDelivery } from '../../shared/webhooks/deliveries.ts'
import { listDeliveries, redeliver, emitTo } from '../../shared/webhooks/deliveries.ts'
import { createSecretBox } from '../../shared/webhooks/secrets.ts'
import { OPERATOR_TYPES, TEST_TYPE } from '../../shared/webhooks/types.ts'
import type { Webhook } from '../../shared/webhooks/webhooks.ts'
import { findWebhook, listWebhooks } from '../../shared/webhooks/webhooks.ts'
import type { Command } from '../command.ts'
import { CommandError, idOf } from '../command.ts'
import { rowOf } from '../fields.ts'

const isType = (text: string) => (OPERATOR_TYPES as readonly string[]).includes(text)

function typesOf(text: string | undefined): string[] {
  const types = [...new Set((text ?? OPERATOR_TYPES.join(',')).split(',').map((one) => one.trim()))]
  if (types.every(isType)) return types
  throw new CommandError(`--types must be a comma-separated list of ${OPERATOR_TYPES.join(', ')}.`)
}

const noWebhook = (text: string | undefined) => new CommandError(`The operators have no webhook ${text}.`)

const lineOf = ({ id, url, types, disabledReason }: Webhook): string =>
  rowOf(id, url, types.join(','), disabledReason === null ? '' : `disabled: ${disabledReason}`)

/** How many deliveries are listed, the newest ones. */
const LISTED = 50

const deliveryLine = ({ id, createdAt, type, status, tries, answerStatus, note }: ShownDelivery): string =>
  rowOf(id, createdAt, type, status, `tries ${tries}`, answerStatus ?? note ?? '')

/** A webhook of the operators that is sent events. @throws CommandError */
async function requireEnabled(db: Db, text: string | undefined): Promise<Webhook> {
  const webhook = await findWebhook(db, null, idOf('webhook', text))
  if (!webhook) throw noWebhook(text)
  if (webhook.disabledAt !== null) throw new CommandError('The webhook is disabled: enable it first.')
  return webhook
}

/** Webhooks for what concerns the house (docs/webhooks.md#for-operators). */
export const webhookCommands: Command[] = [
  {
    usage: 'webhook add <url> [--types a,b]',
    summary:
      'Tell an address of events of the house, and print the signing secret, once. ' +
      `All types by default: ${OPERATOR_TYPES.join(', ')}.`,
    options: ['types'],
    run: async (db, [url = ''], { types }) => {
      const config = readWebhookConfig()
      const problem = receiverProblem(url, config.WEBHOOK_ALLOW_PRIVATE === 'on')
      if (problem !== null) throw new CommandError(`The address ${problem}.`)
      const made = await addOperatorsWebhook(db, null, createSecretBox(config), { url, types: typesOf(types) }).catch(
        (error: unknown) => {
          throw error instanceof ApiError ? new CommandError(error.message) : error
        },
      )
      return { json: made, text: `${lineOf(made.webhook)}\n${made.secret}` }
    },
  },
  {
    usage: 'webhook list',
    summary: "List the operators' webhooks.",
    run: async (db) => {
      const webhooks = await listWebhooks(db, null)
      return { json: { webhooks }, text: webhooks.map(lineOf).join('\n') || 'No webhooks.' }
    },
  },
  {
    usage: 'webhook enable <id>',
    summary: 'Enable a webhook that was disabled. What waited is sent.',
    run: async (db, [id]) => {
      const webhook = await switchOperatorsWebhook(db, null, idOf('webhook', id), false)
      if (!webhook) throw noWebhook(id)
      return { json: { webhook }, text: lineOf(webhook) }
    },
  },
  {
    usage: 'webhook rotate <id>',
    summary: 'Make another signing secret and print it, once. For 24 hours both sign.',
    run: async (db, [id]) => {
      const secret = await rotateOperatorsWebhook(db, null, createSecretBox(readWebhookConfig()), idOf('webhook', id))
      if (secret === null) throw noWebhook(id)
      return { json: { secret }, text: secret }
    },
  },
  {
    usage: 'webhook test <id>',
    summary: 'Send a test event.',
    run: async (db, [id]) => {
      const webhook = await requireEnabled(db, id)
      const sent = await emitTo(db, idOf('webhook', id), TEST_TYPE, { webhook: webhook.id })
      if (sent === null) throw noWebhook(id)
      const delivery = publicId('delivery', sent)
      return { json: { delivery }, text: `${delivery} queued.` }
    },
  },
  {
    usage: 'webhook deliveries <id>',
    summary: `List the newest ${LISTED} events that it was sent, and what was answered.`,
    run: async (db, [id]) => {
      if (!(await findWebhook(db, null, idOf('webhook', id)))) throw noWebhook(id)
      const deliveries = await listDeliveries(db, idOf('webhook', id), LISTED, null)
      return { json: { deliveries }, text: deliveries.map(deliveryLine).join('\n') || 'No deliveries.' }
    },
  },
  {
    usage: 'webhook redeliver <id> <delivery>',
    summary: 'Send an event again: the same id and bytes.',
    run: async (db, [id, delivery]) => {
      await requireEnabled(db, id)
      const queued = await redeliver(db, idOf('webhook', id), idOf('delivery', delivery))
      if (!queued) throw new CommandError(`The webhook has no delivery ${delivery}.`)
      return { json: { redelivered: true }, text: `${delivery} queued.` }
    },
  },
  {
    usage: 'webhook remove <id>',
    summary: 'Delete a webhook, and what it was still to be told.',
    run: async (db, [id]) => {
      if (!(await removeOperatorsWebhook(db, null, idOf('webhook', id)))) throw noWebhook(id)
      return { json: { removed: true }, text: 'Removed.' }
    },
  },
]
