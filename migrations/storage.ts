/**
 * No statistics of tables that are almost empty. Every connection keeps its plans of the money's functions (see
 * `sql/open_calls.sql`) until the statistics of a table change, which autovacuum does once a minute at most. A plan
 * made for some twenty rows reads all of an index instead of looking ids up, and so costs more with every call of that
 * minute: 2.4 ms for a batch of eight after 8,000 calls, where it should be 0.9. A table without statistics counts as
 * one of ten pages at the least, and there ids are looked up.
 *
 * 5,000 changes before the first visit are some 1,700 calls, each inserted, begun and ended. Beyond them it comes by
 * share, as everywhere.
 */
export const FEW_EARLY_STATISTICS =
  'autovacuum_analyze_threshold = 5000, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_insert_threshold = 5000'
