import { OPERATORS_EVENTS } from '../../../src/api/endpoint/event-schemas.ts'
import { parseId } from '../../../src/shared/platform/ids.ts'
import type { Db } from '../../../src/shared/platform/postgres/db.ts'
import { createSecretBox } from '../../../src/shared/webhooks/secrets.ts'
import { OPERATOR_TYPES } from '../../../src/shared/webhooks/types.ts'
import { createWebhook, deleteWebhook } from '../../../src/shared/webhooks/webhooks.ts'

const box = createSecretBox({ APP_SECRET: 'a secret of the tests, long enough for it' })

/** Tells operators at an address. `told`: what of, oldest first, each held against its schema. */
export async function aHouse(db: Db) {
  const { webhook } = await createWebhook(db, box, null, { url: 'https://house.example/', types: OPERATOR_TYPES })
  const id = parseId('webhook', webhook.id)!
  const told = async (by: Db = db): Promise<{ type: string; data: Record<string, unknown> }[]> =>
    (await by('webhook_deliveries').where({ webhook_id: id }).orderBy('id').select<{ body: string }[]>('body')).map(
      ({ body }) => {
        const event = JSON.parse(body)
        OPERATORS_EVENTS.find(({ type }) => type === event.type)!.body.parse(event)
        return event
      },
    )
  return { told, end: () => deleteWebhook(db, null, id) }
}
