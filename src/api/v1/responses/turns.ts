/**
 * Turns of what reads stored responses: each may unpack as much as the longest body has, so one account has one of them
 * in work at a time.
 */
import { FairQueue } from '../../../shared/platform/fair-queue.ts'

/** Reads of stored responses, by account. */
export const reads = new FairQueue({ perHolder: 1, waiting: 32 })
