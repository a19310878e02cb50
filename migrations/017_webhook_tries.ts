/**
 * The tries of a delivery: what was answered each time, and why it was no success.
 */
import type { Knex } from 'knex'
import { createTables } from './tables.ts'

export const up = (db: Knex): Promise<void> =>
  createTables(
    db,
    `
    -- Each try of a delivery, deleted with it.
    CREATE TABLE webhook_tries (
      id bigint GENERATED ALWAYS AS IDENTITY, -- The order of the tries.
      delivery_id uuid NOT NULL, -- Of which delivery.
      ended_at timestamptz NOT NULL DEFAULT now(), -- When it succeeded or failed.
      answer_status integer, -- The HTTP status of the answer; null: none.
      answer_ms integer, -- How long it took, in ms.
      note text, -- Why it was no success; null for a success.
      answer text, -- How the answer began, where it was no success.
      CONSTRAINT webhook_tries_pkey PRIMARY KEY (id),
      CONSTRAINT webhook_tries_delivery_fkey FOREIGN KEY (delivery_id)
        REFERENCES webhook_deliveries (id) ON DELETE CASCADE,
      CONSTRAINT webhook_tries_answer_length CHECK (char_length(answer) <= 512)
    );
    CREATE INDEX webhook_tries_delivery ON webhook_tries (delivery_id, id);
  `,
  )

export async function down(db: Knex): Promise<void> {
  await db.raw('DROP TABLE webhook_tries')
}
