import '../require-node.ts'
import { BuildError, build } from './builder.ts'
import { seconds } from '../tools.ts'

/** `npm run build`: compiles everything into dist. */
const startedAt = Date.now()
try {
  await build()
  console.log(`built dist in ${seconds(Date.now() - startedAt)}`)
} catch (error) {
  if (!(error instanceof BuildError)) throw error
  console.error(error.message)
  process.exitCode = 1
}
