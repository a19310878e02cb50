/**
 * Has threads run TypeScript: they inherit the options of their process, and `--import tsx` does nothing in them. Node
 * is started with `--import` of this file behind that.
 */
import { isMainThread } from 'node:worker_threads'

if (!isMainThread) (await import('tsx/esm/api')).register()
