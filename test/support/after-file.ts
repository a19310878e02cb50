/** Ends each file of tests (.mocharc.json): mocha runs root hooks once per file if it runs files in parallel. */
import { endFile } from '../../scripts/harness/after-file.ts'

export const mochaHooks = { afterAll: endFile }
