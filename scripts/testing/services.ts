import '../require-node.ts'
import { sharedTestData } from '../folders.ts'
import { sharedTestServices, stopTestServices } from '../services/test-services.ts'

/** `tsx scripts/testing/services.ts start | stop`: the services that single test files use outside of `npm test`. */
const [command] = process.argv.slice(2)
if (command === 'start') {
  await sharedTestServices(sharedTestData, console.log)
} else if (command === 'stop') {
  console.log((await stopTestServices(sharedTestData)) ? 'stopped' : 'none were running')
} else {
  console.error('usage: tsx scripts/testing/services.ts start | stop')
  process.exitCode = 1
}
