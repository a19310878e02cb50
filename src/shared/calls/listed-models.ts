/** Chats that name several models: one is asked after the other (docs/api/models.md#lists). */
import type { Db } from '../platform/postgres/db.ts'
import type { CallId } from '../platform/ids.ts'
import type { ChatPrice, Share, Tokens } from '../terms/pricing.ts'
import { priceVersionOf } from '../terms/price-versions.ts'
import type { CallAttempt } from './leases.ts'

/** A model that may answer a chat: at which price, with which limit of output, and what is estimated of its tokens. */
export type ListedModel = { model: string; price: ChatPrice & Share; maxTokens: number; estimate: Tokens }

/**
 * Gives a running call to another model of its list, at that model's price; its charge stays. Safe to repeat.
 * @returns false if the call has ended or another attempt owns it: stop working.
 */
export async function moveToModel(
  db: Db,
  { id, attempt }: CallAttempt,
  { model, price }: Pick<ListedModel, 'model' | 'price'>,
): Promise<boolean> {
  const { id: version, hash } = priceVersionOf(model, price)
  const written = JSON.stringify(price)
  const { rowCount } = await db.raw<{ rowCount: number }>(
    `
    WITH version AS (
      INSERT INTO price_versions (id, model, hash, price) VALUES (?, ?, ?, ?::jsonb) ON CONFLICT DO NOTHING
    )
    UPDATE calls SET requested = coalesce(requested, model), model = ?, price = ?::jsonb, price_version = ?
    WHERE id = ? AND attempts = ? AND status = 'running'`,
    [version, model, hash, written, model, written, version, id, attempt],
  )
  return rowCount === 1
}

/** The model of a list that a call was given to last; undefined if that is none of them. */
export async function lastAsked(db: Db, id: CallId, models: readonly ListedModel[]): Promise<ListedModel | undefined> {
  const row = await db('calls').where({ id }).first<{ model: string } | undefined>('model')
  return models.find(({ model }) => model === row?.model)
}
