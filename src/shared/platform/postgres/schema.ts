/** Whether the database has been migrated far enough for this release. */
/** Checks the schema until it is new enough: migrations never remove what a running release needs. */
export class SchemaGate {
  private readonly read: () => Promise<string[]>
  private isComplete = false

  /** @param read what is missing, by name (`migrations/index.ts`) */
  constructor(read: () => Promise<string[]>) {
    this.read = read
  }

  /** Whether it was new enough at the last check. Sends no query. */
  get seen(): boolean {
    return this.isComplete
  }

  /** What is missing, by name. @throws Postgres' errors, until it was complete once. */
  async missing(): Promise<string[]> {
    if (this.isComplete) return []
    const missing = await this.read()
    this.isComplete = missing.length === 0
    return missing
  }
}
