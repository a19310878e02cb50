/**
 * Whether the database has been migrated far enough for this release.
 */
import { missingSchema } from '../../../../migrations/index.ts'
import type { Db } from './db.ts'

/** Looks at the schema until it is new enough: migrations never take away what a running release needs. */
export class SchemaGate {
  private readonly db: Db
  private isThere = false

  constructor(db: Db) {
    this.db = db
  }

  /** Whether it was new enough when somebody last looked. Asks nobody. */
  get seen(): boolean {
    return this.isThere
  }

  /** What is missing, by name. @throws whatever Postgres says, while it has never been seen whole. */
  async missing(): Promise<string[]> {
    if (this.isThere) return []
    const missing = await missingSchema(this.db)
    this.isThere = missing.length === 0
    return missing
  }
}
