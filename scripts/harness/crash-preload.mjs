/**
 * `node --import` of this file kills the process at a step of a call: CRASH_AT=call.settled#3 at the third settlement.
 * TELL_STEPS names a file that each step is written to as it happens. It listens to what production tells anyway
 * (src/shared/steps.ts), so that the very program is tested that is run.
 */
import { subscribe } from 'node:diagnostics_channel'
import { openSync, writeSync } from 'node:fs'

const [name, nth = '1'] = (process.env.CRASH_AT ?? '').split('#')
const told = process.env.TELL_STEPS ? openSync(process.env.TELL_STEPS, 'a') : null
let count = 0

if (name || told !== null) {
  subscribe('tollgate:failpoint', (step) => {
    // At once, past every buffer: the next line may be the last.
    if (told !== null) writeSync(told, `${Date.now()} ${step.name} ${step.callId}\n`)
    if (step.name !== name || ++count !== Number(nth)) return
    // Dead before the next statement: neither catch nor finally runs, nothing is flushed.
    process.kill(process.pid, 'SIGKILL')
  })
}
