import type { Db } from '../../src/shared/platform/postgres/db.ts'
import { connectTestDb, newDatabaseUrl, testDatabaseUrl } from '../../scripts/harness/database.ts'
import { expectBooksToBalance } from './books.ts'

/** `pool`: connections at most. `isOwn`: of the suite alone, for tests that read what there is of everybody. */
type Options = { pool?: number; isOwn?: boolean }

/** The database of a suite, from its first test on: that of its file, unless it is to have its own. */
export function useDb({ pool = 10, isOwn = false }: Options = {}): Db {
  let db: Db
  before(async () => {
    const DATABASE_URL = await (isOwn ? newDatabaseUrl : testDatabaseUrl)()
    db = connectTestDb({ DATABASE_URL, DATABASE_SSL: 'off', DATABASE_POOL: pool })
  })
  after(() => db.destroy())
  const none = (() => undefined) as unknown as Db
  return new Proxy(none, {
    apply: (_none, _self, given: Parameters<Db>) => db(...given),
    get: (_none, name) => Reflect.get(db, name) as unknown,
  })
}

/** The database of a suite after each of whose tests every rule of the audit must hold. */
export function useBooks(options?: Options): Db {
  const db = useDb(options)
  afterEach(() => expectBooksToBalance(db))
  return db
}
