import type { Catalogue } from '../../src/shared/catalogue/catalogue.ts'
import { parseCatalogue, readCatalogueFile } from '../../src/shared/catalogue/parse.ts'
import type { Db } from '../../src/shared/platform/postgres/db.ts'
import type { Config } from '../../src/shared/platform/config/config.ts'

/** The catalogue of a file, as a process with these keys would use it. */
export const readCatalogue = (path: string, secretOf: Config['secretOf']): Catalogue =>
  parseCatalogue(readCatalogueFile(path), { version: 1, createdAt: 1 }, secretOf)

/** Forgets every version of a database's catalogue, and who applied them: the next one is version 1 again. */
export const forgetVersions = (db: Db): Promise<void> =>
  db.transaction(async (trx) => {
    // Versions are append-only, by triggers.
    await trx.raw('SET LOCAL session_replication_role = replica')
    await trx('catalogue_versions').delete()
    await trx('operator_actions').delete()
  })
