/**
 * `node --require` of this file kills the process at a failpoint: CRASH_AT=call.settled#3 at the third settlement.
 * FAILPOINT_LOG names a file to which each failpoint is written as it is reached. The failpoints are those of
 * production (src/shared/platform/process/failpoints.ts), so that what is tested is what runs.
 */
const { subscribe } = require('node:diagnostics_channel')
const { openSync, writeSync } = require('node:fs')

const [name, nth = '1'] = (process.env.CRASH_AT ?? '').split('#')
const failpointLog = process.env.FAILPOINT_LOG ? openSync(process.env.FAILPOINT_LOG, 'a') : null
let count = 0

if (name || failpointLog !== null) {
  subscribe('tollgate:failpoint', (step) => {
    // Synchronous and unbuffered: the next line may kill the process.
    if (failpointLog !== null) writeSync(failpointLog, `${Date.now()} ${step.name} ${step.callId}\n`)
    if (step.name !== name || ++count !== Number(nth)) return
    // The process is dead before the next statement: neither catch nor finally runs, and nothing is flushed.
    process.kill(process.pid, 'SIGKILL')
  })
}
