/** Files of forms on their way to the workers of their calls. */
import type { Knex } from 'knex'
import { createTables } from './tables.ts'

export const up = (db: Knex): Promise<void> =>
  createTables(
    db,
    `
    -- Files of forms while their call is open (src/shared/requests/uploads.ts); swept when it has ended.
    CREATE TABLE uploads (
      call_id uuid NOT NULL, -- Whose file.
      place integer NOT NULL, -- Which of the files of its form, from 0.
      chunk integer NOT NULL, -- Which part of the file, from 0.
      bytes bytea NOT NULL, -- At most 1 MB.
      CONSTRAINT uploads_pkey PRIMARY KEY (call_id, place, chunk),
      CONSTRAINT uploads_chunk_small CHECK (octet_length(bytes) <= 1048576)
    );
    ALTER TABLE uploads SET UNLOGGED;
    -- As it is: sound and pictures are compressed already.
    ALTER TABLE uploads ALTER COLUMN bytes SET STORAGE EXTERNAL;
  `,
  )

export async function down(db: Knex): Promise<void> {
  await db.raw('DROP TABLE uploads')
}
