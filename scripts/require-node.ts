/**
 * Ends the process with a clear message on a Node that is too old. Imported before everything else, so that nothing
 * that needs a newer Node runs first.
 */
const needed = [20, 19] as const
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)

if (major < needed[0] || (major === needed[0] && minor < needed[1])) {
  console.error(
    `Tollgate needs Node ${needed.join('.')} or newer (24 is recommended). ` +
      `This is ${process.version} (${process.execPath}).`,
  )
  process.exit(1)
}
