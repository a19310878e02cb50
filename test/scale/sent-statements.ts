import pg from 'pg'

/** A statement as `pg` gets it. `values` are those of its numbered parameters. */
export type Sent = { text: string; values?: unknown[] }

/** Every statement that connections of this process send meanwhile, by Knex or past it. */
export async function sentDuring(work: () => Promise<unknown>): Promise<Sent[]> {
  const sent: Sent[] = []
  const { prototype } = pg.Client as unknown as {
    prototype: { query: (this: unknown, ...given: unknown[]) => unknown }
  }
  const { query } = prototype
  prototype.query = function (...given) {
    if (typeof given[0] === 'object') sent.push(given[0] as Sent)
    return query.apply(this, given)
  }
  try {
    await work()
  } finally {
    prototype.query = query
  }
  return sent
}
