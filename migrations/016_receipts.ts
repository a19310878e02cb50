/**
 * What a call was priced by, where that is not its tokens: with the price on its row, every receipt can be computed.
 */
import type { Knex } from 'knex'

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    ALTER TABLE calls ADD COLUMN units quantity, ADD COLUMN size text, ADD COLUMN quality text;
    COMMENT ON COLUMN calls.units IS 'How many characters (speech) or searches (rerank) it is paid for.';
    COMMENT ON COLUMN calls.size IS 'The size that it is priced at: as asked for, else as it came (image).';
    COMMENT ON COLUMN calls.quality IS 'The quality that it is priced at: as asked for, else as it came (image).';
    COMMENT ON COLUMN calls.seconds IS 'The length that was asked for (video), or measured (transcription).';
    COMMENT ON COLUMN calls.resolution IS 'The resolution that was asked for (image, video).';
    ALTER TYPE opening ADD ATTRIBUTE units bigint, ADD ATTRIBUTE size text, ADD ATTRIBUTE quality text;
    ALTER TYPE outcome ADD ATTRIBUTE size text, ADD ATTRIBUTE quality text;
  `)
}

export async function down(db: Knex): Promise<void> {
  await db.raw(`
    ALTER TYPE outcome DROP ATTRIBUTE size, DROP ATTRIBUTE quality;
    ALTER TYPE opening DROP ATTRIBUTE units, DROP ATTRIBUTE size, DROP ATTRIBUTE quality;
    ALTER TABLE calls DROP COLUMN units, DROP COLUMN size, DROP COLUMN quality;
    COMMENT ON COLUMN calls.seconds IS 'The length that was asked for (video).';
    COMMENT ON COLUMN calls.resolution IS 'The resolution that was asked for (video).';
  `)
}
