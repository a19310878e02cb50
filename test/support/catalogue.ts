import type { Catalogue } from '../../src/shared/catalogue/catalogue.ts'
import { parseCatalogue, readCatalogueFile } from '../../src/shared/catalogue/parse.ts'
import type { Config } from '../../src/shared/platform/config/config.ts'

/** The catalogue of a file, as a process with these keys would use it. */
export const readCatalogue = (path: string, secretOf: Config['secretOf']): Catalogue =>
  parseCatalogue(readCatalogueFile(path), { version: 1, createdAt: 1 }, secretOf)
