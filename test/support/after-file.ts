/** Ends each file of tests (.mocharc.json): mocha runs hooks of the root once a file where it runs files in parallel. */
import { endFile } from '../../scripts/harness/after-file.ts'

export const mochaHooks = { afterAll: endFile }
